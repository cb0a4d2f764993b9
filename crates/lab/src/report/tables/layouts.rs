//! Layouts of the printed table other than the plain one.

use super::columns::{shown, varying};
use super::{RenderedTable, Selection, column, selections};
use crate::format::{self, ABSENT};
use crate::group::grouped;
use crate::report::{Report, Row, charts::load::phrases};
use std::collections::BTreeSet;

/// Layout `upstreams`: one numbered row per tester and server, with latency ratios, memory and CPU.
pub fn upstreams(report: &Report) -> Vec<RenderedTable> {
    if report.rows.is_empty() {
        return Vec::new();
    }
    let rows: Vec<(usize, &Row)> = (1..).zip(&report.rows).collect();
    let systems: BTreeSet<String> = report.envs.iter().filter_map(|env| system(env.kernel.as_ref()?)).collect();
    let system =
        if systems.is_empty() { ABSENT.to_owned() } else { systems.into_iter().collect::<Vec<_>>().join(", ") };
    let percent = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.1} %"));
    let columns = vec![
        column(&rows, ["test", "case"], true, |(number, _)| number.to_string()),
        column(&rows, ["", "OS"], false, |_| system.clone()),
        column(&rows, ["", "tester"], false, |(_, row)| tester(row, report)),
        column(&rows, ["upstream", "server"], false, |(_, row)| row.cell.target.clone()),
        column(&rows, ["", "req/s"], true, |(_, row)| {
            row.figures.rate.map_or(ABSENT.to_owned(), |rate| format!("{:.0}", rate.median))
        }),
        column(&rows, ["latency", "p50"], true, |(_, row)| {
            format::time(row.figures.service_p50_us.or(row.figures.p50_us))
        }),
        column(&rows, ["p90", "/p50"], true, |(_, row)| percent(row.figures.service_p90_percent)),
        column(&rows, ["p99", "/p50"], true, |(_, row)| percent(row.figures.service_p99_percent)),
        column(&rows, ["p99.9", "/p50"], true, |(_, row)| percent(row.figures.service_p999_percent)),
        column(&rows, ["memory", "MiB"], true, |(_, row)| format::mebibytes(row.figures.rss_bytes)),
        column(&rows, ["", "CPU %"], true, |(_, row)| format::number(row.figures.cpu_percent, 0)),
        column(&rows, ["", "verdict"], false, |(_, row)| row.verdict()),
    ];
    // Rows of one load form a group.
    let loads: Vec<&str> = report.rows.iter().map(|row| row.cell.combination()).collect();
    let group = |load: &&str| loads.iter().position(|first| first == load).unwrap_or(0);
    let groups = loads.iter().map(group).collect();
    vec![RenderedTable { title: String::new(), columns, groups, headings: Vec::new() }]
}

/// The tester, with its load if it has several.
fn tester(row: &Row, report: &Report) -> String {
    let name = |row: &Row| row.cell.value("tester").unwrap_or(crate::plan::tester::BRUNT.to_owned());
    let own = name(row);
    let of_it: Vec<&Row> = report.rows.iter().filter(|row| name(row) == own).collect();
    let names: Vec<String> = varying(&of_it).into_iter().filter(|name| name != "tester").collect();
    let equal = names.iter().any(|name| name == "vary") && row.cell.settings.vary.is_none();
    let load = [phrases(&[row], &names), if equal { "equal requests".to_owned() } else { String::new() }];
    let load: Vec<String> = load.into_iter().filter(|words| !words.is_empty()).collect();
    if load.is_empty() { own } else { format!("{own}: {}", load.join(", ")) }
}

/// Name and version from the kernel's identification, as `Linux 6.18.0`.
fn system(kernel: &str) -> Option<String> {
    let mut words = kernel.split_whitespace();
    let (name, version) = (words.next()?, words.next()?);
    Some(format!("{name} {}", version.split('-').next().unwrap_or(version)))
}

/// Layout `ping-pong`: one table per server and load, one row per step of connections or rate, with throughput, mean
/// latency and CPU.
pub fn ping_pong(report: &Report) -> Vec<RenderedTable> {
    selections(report).iter().flat_map(blocks).collect()
}

fn blocks(table: &Selection) -> Vec<RenderedTable> {
    let names = varying(&table.rows);
    let title = |row: &Row| match table.over {
        Some(_) => format!("{}: best throughput", row.cell.target),
        None => format!("{}: {}", row.cell.target, load(row, &names)),
    };
    let blocks = grouped(table.rows.iter().map(|row| (title(row), *row)));
    blocks.into_iter().map(|(title, rows)| block(title, &rows, table.over)).collect()
}

/// The settings common to a block: cores, size, and others that vary in the plan.
fn load(row: &Row, varying: &[String]) -> String {
    let step = step(row);
    let always = ["server_cores", "size", "connections"].map(str::to_owned);
    let others = varying.iter().filter(|name| !always.contains(name)).cloned();
    let names: Vec<String> =
        always.iter().cloned().chain(others).filter(|name| name != step && name != "rate").collect();
    phrases(&[row], &names)
}

/// The setting that grows from row to row.
fn step(row: &Row) -> &'static str {
    if row.cell.rate().is_some() { "rate" } else { "connections" }
}

fn block(title: String, rows: &[&Row], over: Option<&str>) -> RenderedTable {
    let is_open = rows.iter().any(|row| row.cell.rate().is_some());
    let name = if is_open { "rate" } else { "connections" };
    let over_cores = if rows.iter().any(|row| shown(row, name).contains(" x ")) { "gen. cores x" } else { "" };
    let load = column(rows, [over_cores, name], true, |row| shown(row, step(row)));
    let rate = column(rows, ["", "req/s"], true, |row| {
        row.figures.rate.map_or(ABSENT.to_owned(), |rate| format!("{:.0}", rate.median))
    });
    let mean = column(rows, ["mean", "latency"], true, |row| format::time(row.figures.service_mean_us));
    let mut columns = match over {
        Some(_) => {
            let cores = column(rows, ["server", "cores"], true, |row| row.cell.placement.server.count().to_string());
            vec![cores, rate, load]
        }
        None => vec![load, rate, mean],
    };
    if is_open {
        columns.push(column(rows, ["CPU %", "user+kernel"], true, |row| format::number(row.figures.cpu_percent, 1)));
        columns.push(column(rows, ["CPU %", "user"], true, |row| format::number(row.figures.cpu_user_percent, 1)));
    }
    columns.push(column(rows, ["", "verdict"], false, |row| row.verdict()));
    // No separators within a block.
    RenderedTable { title, columns, groups: (0..rows.len()).collect(), headings: Vec::new() }
}
