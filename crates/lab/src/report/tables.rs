//! Tables of the printed report, in one of three layouts. Layouts omit figures, but never the verdict.

pub(super) mod columns;
mod ping_pong;
mod selection;
mod upstreams;

use super::Report;
use crate::plan::Style;
use columns::columns;

pub(super) use columns::Column;
pub(super) use selection::{Selection, selections};

pub(super) struct RenderedTable {
    pub title: String,
    /// All of equal length.
    pub columns: Vec<Column>,
    /// Group number by row; rows of one group are adjacent.
    pub groups: Vec<usize>,
}

/// The tables of a report; none is empty.
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

fn column<R>(rows: &[R], header: [&str; 2], right: bool, show: impl Fn(&R) -> String) -> Column {
    Column { header: header.map(str::to_owned), right, weight: 0, cells: rows.iter().map(show).collect() }
}
