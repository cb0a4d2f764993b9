//! The default table: at most [`MOST_COLUMNS`] columns and [`WIDEST`] characters. Units are in the header. Settings that do not
//! fit in columns head the rows that share them.

use super::columns::{self, Column, shown, varying};
use super::{RenderedTable, Selection};
use crate::format::{self, ABSENT};
use crate::group::{distinct, grouped};
use crate::report::{Row, charts::load::phrases};
use brunt_results::figure;

pub const MOST_COLUMNS: usize = 8;
pub const WIDEST: usize = 100;

pub fn compact(selection: &Selection) -> RenderedTable {
    let Selection { over, rows, groups, .. } = selection;
    let settings: Vec<String> = varying(rows).into_iter().filter(|name| Some(name.as_str()) != *over).collect();
    let title = selection.title.clone();
    let over: Vec<String> = over.iter().map(|name| (*name).to_owned()).collect();
    let in_columns = columns_of(rows, &[&settings[..], &over].concat(), true);
    if is_within_limits(&in_columns) {
        return RenderedTable { title, columns: in_columns, groups: groups.clone(), headings: Vec::new() };
    }
    if distinct(rows.iter().map(|row| &row.cell.target)).len() > 1 {
        let headings = headings(rows, groups, &settings);
        return RenderedTable {
            title,
            columns: limited(columns_of(rows, &over, true)),
            groups: groups.clone(),
            headings,
        };
    }
    // One target: its name is part of the headings, and the innermost settings remain columns.
    let fitting = (0..settings.len())
        .find(|outer| is_within_limits(&columns_of(rows, &[&settings[*outer..], &over].concat(), false)));
    let (outer, inner) = settings.split_at(fitting.unwrap_or(settings.len()));
    let heading = |row: &Row| [row.cell.target.clone(), phrases(&[row], outer)].join(": ");
    let parts = grouped(rows.iter().map(|row| (heading(row).trim_end_matches(": ").to_owned(), *row)));
    let numbers = parts.iter().enumerate().flat_map(|(number, (_, rows))| rows.iter().map(move |_| number)).collect();
    let ordered: Vec<&Row> = parts.iter().flat_map(|(_, rows)| rows.iter().copied()).collect();
    RenderedTable {
        title,
        columns: limited(columns_of(&ordered, &[inner, &over].concat(), false)),
        groups: numbers,
        headings: parts.into_iter().map(|(heading, _)| heading).collect(),
    }
}

/// The load of each group in words; as planned if words do not tell the groups apart. None for the only load.
fn headings(rows: &[&Row], groups: &[usize], settings: &[String]) -> Vec<String> {
    if settings.is_empty() {
        return Vec::new();
    }
    let groups: Vec<Vec<&Row>> =
        grouped(groups.iter().copied().zip(rows.iter().copied())).into_iter().map(|(_, rows)| rows).collect();
    // A plan may give a target a setting of its own, which is not that of its group.
    let words: Vec<String> = groups.iter().map(|rows| phrases(rows, settings)).collect();
    if distinct(&words).len() == groups.len() && words.iter().all(|words| !words.is_empty()) {
        return words;
    }
    groups.iter().map(|rows| rows[0].cell.combination().replace(',', ", ")).collect()
}

fn columns_of(rows: &[&Row], settings: &[String], with_target: bool) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut add = |header: [&str; 2], weight: u8, show: &dyn Fn(&Row) -> String| {
        let right = header[1] != "target" && !header.iter().any(|line| line.starts_with("verdict"));
        let cells = rows.iter().copied().map(show).collect();
        columns.push(Column { header: header.map(str::to_owned), right, weight, is_default: true, cells });
    };
    for name in settings {
        add(columns::header(name).into(), 0, &|row| shown(row, name));
    }
    if with_target {
        add(["", "target"], 0, &|row| row.cell.target.clone());
    }
    add(["x baseline", columns::ratio_interval(rows)], 0, &columns::against_baseline);
    let (unit, divisor) = columns::rate_unit(rows);
    add(["", unit], 1, &|row| format::number(row.figures.rate.map(|rate| rate.median / divisor), 1));
    let times = rows.iter().flat_map(|row| [row.figures.get(&figure::P50), row.figures.get(&figure::P99)]).flatten();
    let (unit, length) = format::time_unit(times);
    let time = |us: Option<f64>| format::three_digits(us.map(|us| us / length));
    add(["p50", unit], 4, &|row| time(row.figures.get(&figure::P50)));
    add(["p99", unit], 3, &|row| time(row.figures.get(&figure::P99)));
    add(["CPU us", "per req"], 2, &|row| row.figures.cost());
    add(["memory", "MiB"], 5, &|row| format::mebibytes(row.figures.get(&figure::RSS)));
    let [over, name] = columns::verdict_header(rows);
    add([&over, &name], 0, &Row::verdict);
    // Figures missing from all rows are listed once below the table.
    columns.retain(|column| column.is_verdict() || column.cells.iter().any(|cell| cell != ABSENT));
    columns
}

fn is_within_limits(columns: &[Column]) -> bool {
    columns.len() <= MOST_COLUMNS && width(columns) <= WIDEST
}

/// Without the least important columns beyond the limit.
fn limited(mut columns: Vec<Column>) -> Vec<Column> {
    while columns.len() > MOST_COLUMNS && columns::drop_least(&mut columns) {}
    columns
}

/// Characters of a rendered line: two between columns, one before the first.
fn width(columns: &[Column]) -> usize {
    let of = |column: &Column| {
        let texts = column.header.iter().chain(&column.cells);
        texts.map(|text| text.chars().count()).max().unwrap_or(0) + 2
    };
    columns.iter().map(of).sum::<usize>().saturating_sub(1)
}
