//! Layouts of the printed table other than the plain one.

use super::columns::{shown, varying};
use super::{RenderedTable, Selection, column, selections};
use crate::format::{self, ABSENT, plural};
use crate::group::grouped;
use crate::plan::settings::ClientCores;
use crate::report::charts::load::{is_same, phrases};
use crate::report::row::Figures;
use crate::report::{Report, Row};
use brunt_results::{Count, figure};
use std::collections::BTreeSet;

/// Layout `upstreams`: one numbered row per tester and server, with latency ratios, memory and CPU, and what these testers do
/// not show: sockets, bytes of a reply, cost of a request, CPU of the tester, failures. Loads of equal and of different
/// requests have a table each.
pub fn upstreams(report: &Report) -> Vec<RenderedTable> {
    let tables = grouped(report.rows.iter().map(|row| (row.cell.settings.vary, row)));
    let mut numbers = 1..;
    let is_titled = tables.len() > 1;
    let title = |vary: Option<u64>| match vary {
        _ if !is_titled => String::new(),
        None => "Equal requests".to_owned(),
        Some(count) => format!("{} different requests", Count(count)),
    };
    let table = |(vary, rows): (_, Vec<_>)| {
        let numbered: Vec<(usize, &Row)> = numbers.by_ref().zip(rows).collect();
        upstreams_table(report, title(vary), &numbered)
    };
    tables.into_iter().map(table).collect()
}

fn upstreams_table(report: &Report, title: String, rows: &[(usize, &Row)]) -> RenderedTable {
    let systems: BTreeSet<String> = report.envs.iter().filter_map(|env| system(env.kernel.as_ref()?)).collect();
    let system =
        if systems.is_empty() { ABSENT.to_owned() } else { systems.into_iter().collect::<Vec<_>>().join(", ") };
    let percent = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.1} %"));
    let text = |header, show: &dyn Fn(&Row) -> String| column(rows, header, false, |(_, row)| show(row));
    let number = |header, show: &dyn Fn(&Figures) -> String| column(rows, header, true, |(_, row)| show(&row.figures));
    let columns = vec![
        column(rows, ["test", "case"], true, |(number, _)| number.to_string()),
        text(["", "OS"], &|_| system.clone()),
        text(["", "tester"], &|row| tester(row, rows)),
        text(["upstream", "server"], &|row| row.cell.target.clone()),
        number(["", "req/s"], &|of| format::number(of.rate.map(|rate| rate.median), 0)),
        number(["latency", "p50"], &|of| format::time(of.get(&figure::SERVICE_P50).or(of.get(&figure::P50)))),
        number(["p90", "/p50"], &|of| percent(of.get(&figure::SERVICE_P90_SHARE))),
        number(["p99", "/p50"], &|of| percent(of.get(&figure::SERVICE_P99_SHARE))),
        number(["p99.9", "/p50"], &|of| percent(of.get(&figure::SERVICE_P999_SHARE))),
        number(["memory", "MiB"], &|of| format::mebibytes(of.get(&figure::RSS))),
        number(["", "CPU %"], &|of| format::number(of.get(&figure::CPU), 0)),
        number(["CPU us", "per req"], &Figures::cost),
        number(["sockets", "used"], &|of| format::number(of.get(&figure::SOCKETS), 0)),
        number(["bytes", "per resp"], &|of| format::number(of.get(&figure::BYTES_PER_RESPONSE), 0)),
        number(["tester", "CPU %"], &|of| format::number(of.get(&figure::GENERATOR_CPU), 0)),
        number(["", "failed"], &|of| format::number(of.get(&figure::FAILED).filter(|_| of.is_http), 0)),
        text(["", "verdict"], &Row::verdict),
    ];
    // Rows of one load form a group.
    let loads: Vec<&str> = rows.iter().map(|(_, row)| row.cell.combination()).collect();
    let group = |load: &&str| loads.iter().position(|first| first == load).unwrap_or(0);
    let groups = loads.iter().map(group).collect();
    RenderedTable { title, columns, groups, headings: Vec::new() }
}

/// The tester, with its load if it has several.
fn tester(row: &Row, rows: &[(usize, &Row)]) -> String {
    let name = |row: &Row| row.cell.value("tester").unwrap_or(crate::plan::tester::BRUNT.to_owned());
    let own = name(row);
    let of_it: Vec<&Row> = rows.iter().map(|(_, row)| *row).filter(|row| name(row) == own).collect();
    let names: Vec<String> = varying(&of_it).into_iter().filter(|name| name != "tester").collect();
    let load = phrases(&[row], &names);
    if load.is_empty() { own } else { format!("{own}: {load}") }
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
    let is_one_generator = is_same(&table.rows, "client_cores");
    let title = |row: &Row| match (table.over, row.cell.settings.client_cores) {
        (Some(_), ClientCores::PerServerCore(n)) if !is_one_generator => {
            format!("{}: best throughput, {} a server core", row.cell.target, plural(n, "generator core"))
        }
        (Some(_), _) => format!("{}: best throughput", row.cell.target),
        (None, _) => format!("{}: {}", row.cell.target, load(row, &names)),
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
    let mean =
        column(rows, ["latency", "mean us"], true, |row| format::number(row.figures.get(&figure::SERVICE_MEAN), 1));
    let mut columns = match over {
        Some(_) => {
            let cores = column(rows, ["server", "cores"], true, |row| row.cell.placement.server.count().to_string());
            vec![cores, rate, load]
        }
        None => vec![load, rate, mean],
    };
    if is_open {
        columns
            .push(column(rows, ["CPU %", "user+kernel"], true, |row| format::number(row.figures.get(&figure::CPU), 1)));
        columns
            .push(column(rows, ["CPU %", "user"], true, |row| format::number(row.figures.get(&figure::CPU_USER), 1)));
    }
    columns.push(column(rows, ["", "verdict"], false, |row| row.verdict()));
    // No separators within a block.
    RenderedTable { title, columns, groups: (0..rows.len()).collect(), headings: Vec::new() }
}
