//! Layout `ping-pong`: one table per server and load, one row per step of connections or rate, with throughput, mean
//! latency and CPU.

use super::{RenderedTable, Selection, column, selections};
use crate::format::{self, ABSENT};
use crate::group::grouped;
use crate::report::charts::load::phrases;
use crate::report::tables::columns::{shown, varying};
use crate::report::{Report, Row};

pub fn rendered_tables(report: &Report) -> Vec<RenderedTable> {
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
    RenderedTable { title, columns, groups: (0..rows.len()).collect() }
}
