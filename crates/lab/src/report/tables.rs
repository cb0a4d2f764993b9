//! Which rows and columns a printed report has: all figures in one table, or the layout that people who compare servers
//! of one kind are used to. A layout leaves figures out; it never leaves the verdict out.

pub(super) mod columns;
mod ping_pong;
mod selection;
mod upstreams;

use super::Report;
use crate::plan::Style;
use columns::columns;

pub(super) use columns::Column;
pub(super) use selection::{Selection, selections};

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
