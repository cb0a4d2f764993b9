//! The report for a terminal: tables with a blank line between loads, notes beneath.

use super::tables::{Column, RenderedTable, rendered_tables};
use super::{Report, notes};
use crate::{format, plan::Style};
use std::fmt::Write;

/// Renders the report. If a table is wider than `width`, the least important columns are omitted; `None` shows all.
pub fn text(report: &Report, style: Style, width: Option<usize>) -> String {
    let experiment = &report.experiment;
    let colon = if experiment.description.is_empty() { "" } else { ": " };
    let mut out = format!("{}{colon}{}\n{}\n\n", experiment.name, experiment.description, notes::common(report));
    let mut hidden = 0;
    if report.rows.is_empty() {
        out.push_str("No trial was run.\n");
    }
    for (index, table) in rendered_tables(report, style).into_iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if !table.title.is_empty() {
            let _ = writeln!(out, "{}\n", table.title);
        }
        let (table, left_out) = fitting(table, width);
        out.push_str(&table);
        hidden = hidden.max(left_out);
    }
    let mut legend = notes::legend(report);
    if hidden > 0 {
        legend.push(format!("{hidden} columns do not fit this terminal; report.md has them all."));
    }
    for lines in [legend, notes::concerns(report), notes::circumstances(report)] {
        if !lines.is_empty() {
            out.push('\n');
        }
        for line in lines {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

fn fitting(table: RenderedTable, width: Option<usize>) -> (String, usize) {
    let RenderedTable { mut columns, groups, .. } = table;
    let all = columns.len();
    loop {
        let table = render(&groups, &columns);
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let heaviest = columns.iter().map(|column| column.weight).max().unwrap_or(0);
        if heaviest == 0 || width.is_none_or(|width| widest <= width) {
            return (table, all - columns.len());
        }
        columns.retain(|column| column.weight != heaviest);
    }
}

fn render(groups: &[usize], columns: &[Column]) -> String {
    let heads: Vec<String> = columns.iter().map(|column| column.header.join("\n")).collect();
    // No separators if every group is a single row.
    let has_groups = groups.windows(2).any(|pair| pair[0] == pair[1]);
    let rows = groups.iter().enumerate().flat_map(|(index, group)| {
        let is_first = has_groups && (index == 0 || groups[index - 1] != *group);
        let row = columns.iter().map(|column| column.cells[index].clone()).collect();
        is_first.then(|| vec![String::new(); columns.len()]).into_iter().chain([row])
    });
    format::table(&heads, |column| columns[column].right, rows)
}
