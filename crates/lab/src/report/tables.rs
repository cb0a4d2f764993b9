//! Tables of the printed report, in one of six layouts. Layouts omit figures, but never the verdict.

mod by_agent;
mod by_name;
mod colocation;
pub(super) mod columns;
mod compact;
mod cost;
mod layouts;

use super::{Report, Row};
use crate::{group::grouped, plan::Style};
use columns::{columns, names, shown};

pub(super) use by_agent::by_agent;
pub(super) use by_name::by_name;
pub(super) use columns::{Column, drop_least};
pub(super) use compact::{WIDEST, compact};

pub(super) struct RenderedTable {
    pub title: String,
    /// All of equal length.
    pub columns: Vec<Column>,
    /// Group number by row; rows of one group are adjacent.
    pub groups: Vec<usize>,
    /// The load of each group; empty if columns have it.
    pub headings: Vec<String>,
}

/// The tables of a report; none is empty. In layout `plain` they have every figure if `wide`.
pub(super) fn rendered_tables(report: &Report, style: Style, wide: bool) -> Vec<RenderedTable> {
    match style {
        Style::Plain => {
            let tables = selections(report).into_iter().filter(|table| !table.rows.is_empty());
            let tables = tables.map(|table| if wide { full(table) } else { compact(&table) });
            tables.chain(by_name(report)).chain(by_agent(report)).collect()
        }
        Style::PingPong => layouts::ping_pong(report),
        Style::Upstreams => layouts::upstreams(report),
        Style::Interference => colocation::interference(report),
        Style::Heracles => colocation::heracles(report),
        Style::Cost => cost::cost(report),
    }
}

fn full(table: Selection) -> RenderedTable {
    let columns = columns(&table.rows, table.over);
    RenderedTable { columns, title: table.title, groups: table.groups, headings: Vec::new() }
}

fn column<R>(rows: &[R], header: [&str; 2], right: bool, show: impl Fn(&R) -> String) -> Column {
    Column {
        header: header.map(str::to_owned),
        right,
        weight: 0,
        is_default: true,
        cells: rows.iter().map(show).collect(),
    }
}

/// Rows of a table: every cell or, if the plan sets `best_over`, the best value of that axis.
#[derive(Debug)]
pub struct Selection<'a> {
    /// Empty for the table with every cell.
    pub title: String,
    /// The axis over which the best rows were selected.
    pub over: Option<&'a str>,
    pub rows: Vec<&'a Row>,
    /// Group number by row; rows of one group are adjacent and compared.
    pub groups: Vec<usize>,
}

pub fn selections(report: &Report) -> Vec<Selection<'_>> {
    let mut tables = Vec::new();
    if let Some(over) = &report.experiment.best_over {
        tables.extend(best(report, over));
    }
    let title = if tables.is_empty() { String::new() } else { "Every cell".to_owned() };
    let all = selection(title, report.rows.iter().map(|row| (row.cell.combination().to_owned(), row)));
    tables.push(all);
    tables
}

/// For each target and combination of the other settings, the row with the highest median throughput over `over`.
fn best<'a>(report: &'a Report, over: &'a str) -> Option<Selection<'a>> {
    let over = over.strip_suffix("_per_core").unwrap_or(over);
    let names: Vec<String> = names(&report.rows).into_iter().filter(|name| name != over).collect();
    let rest = |row: &Row| names.iter().map(|name| shown(row, name)).collect::<Vec<_>>().join(",");
    let rate = |row: &Row| row.figures.rate.map(|rate| rate.median);
    let mut winners: Vec<(String, &Row)> = Vec::new();
    for row in report.rows.iter().filter(|row| rate(row).is_some()) {
        let key = rest(row);
        match winners.iter_mut().find(|(known, winner)| *known == key && winner.cell.target == row.cell.target) {
            Some((_, winner)) if rate(row) > rate(winner) => *winner = row,
            Some(_) => {}
            None => winners.push((key, row)),
        }
    }
    // Omitted if there was nothing to choose.
    if winners.is_empty() || winners.len() == report.rows.len() {
        return None;
    }
    let title = format!("Best throughput over {over} (the highest of several medians favours chance)");
    let table = selection(title, winners);
    Some(Selection { over: Some(over), ..table })
}

fn selection<'a>(title: String, rows: impl IntoIterator<Item = (String, &'a Row)>) -> Selection<'a> {
    let groups = grouped(rows);
    let numbers = groups.iter().enumerate().flat_map(|(number, (_, rows))| rows.iter().map(move |_| number)).collect();
    Selection { title, over: None, rows: groups.into_iter().flat_map(|(_, rows)| rows).collect(), groups: numbers }
}
