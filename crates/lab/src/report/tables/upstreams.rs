//! Layout `upstreams`: one numbered row per tester and server, with latency ratios, memory and CPU.

use super::{RenderedTable, column};
use crate::format::{self, ABSENT};
use crate::report::{Report, Row, charts::load::phrases, tables::columns::varying};
use std::collections::BTreeSet;

pub fn rendered_tables(report: &Report) -> Vec<RenderedTable> {
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
        column(&rows, ["latency", "p50"], true, |(_, row)| format::time(row.http.p50_us.or(row.figures.p50_us))),
        column(&rows, ["p90", "/p50"], true, |(_, row)| percent(row.http.p90_percent)),
        column(&rows, ["p99", "/p50"], true, |(_, row)| percent(row.http.p99_percent)),
        column(&rows, ["p99.9", "/p50"], true, |(_, row)| percent(row.http.p999_percent)),
        column(&rows, ["memory", "MiB"], true, |(_, row)| format::mebibytes(row.figures.rss_bytes)),
        column(&rows, ["", "CPU %"], true, |(_, row)| format::number(row.figures.cpu_percent, 0)),
        column(&rows, ["", "verdict"], false, |(_, row)| row.verdict()),
    ];
    // Rows of one load form a group.
    let loads: Vec<&str> = report.rows.iter().map(|row| row.cell.combination()).collect();
    let group = |load: &&str| loads.iter().position(|first| first == load).unwrap_or(0);
    vec![RenderedTable { title: String::new(), columns, groups: loads.iter().map(group).collect() }]
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
