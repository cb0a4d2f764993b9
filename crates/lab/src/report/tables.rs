//! Which rows and columns a printed report has: all figures in one table, or the layout that people who compare servers
//! of one kind are used to. A layout leaves figures out; it never leaves the verdict out.

pub(super) mod columns;
mod ping_pong;
mod selection;
mod upstreams;

use super::Report;
use crate::nearest::hint;
use columns::columns;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

pub(super) use columns::Column;
pub(super) use selection::{Selection, selections};

/// A layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// A row for each cell, every figure.
    #[default]
    Plain,
    /// A block for each server and load, a row for each step of the load: rate, mean latency, CPU.
    PingPong,
    /// A numbered case for each tester and server: rate, percentiles held against the median, memory, CPU.
    Upstreams,
}

impl Style {
    /// Every layout by its name.
    pub const ALL: [(&'static str, Self); 3] =
        [("plain", Self::Plain), ("ping-pong", Self::PingPong), ("upstreams", Self::Upstreams)];
}

impl FromStr for Style {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|(name, _)| name);
        let known = Self::ALL.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, style)| style).ok_or_else(|| format!("'{text}' is not a style{}", hint(text, &names)))
    }
}

/// A table as it is printed.
pub(super) struct RenderedTable {
    /// Stands above it; may be empty.
    pub title: String,
    /// All of the same height.
    pub columns: Vec<Column>,
    /// For each row the number of its group; rows of one group stand together.
    pub groups: Vec<usize>,
}

/// The tables of a report in a layout, none of them empty.
pub(super) fn rendered_tables(report: &Report, style: Style) -> Vec<RenderedTable> {
    match style {
        Style::Plain => {
            let tables = selections(report).into_iter().filter(|table| !table.rows.is_empty());
            tables
                .map(|table| RenderedTable {
                    columns: columns(&table.rows, table.over),
                    title: table.title,
                    groups: table.groups,
                })
                .collect()
        }
        Style::PingPong => ping_pong::rendered_tables(report),
        Style::Upstreams => upstreams::rendered_tables(report),
    }
}

/// A column of these rows.
fn column<R>(rows: &[R], header: [&str; 2], right: bool, show: impl Fn(&R) -> String) -> Column {
    Column { header: header.map(str::to_owned), right, weight: 0, cells: rows.iter().map(show).collect() }
}
