//! The report for a terminal: tables with a blank line between loads, notes beneath.

use super::answers::answers;
use super::tables::{RenderedTable, WIDEST, drop_least, rendered_tables};
use super::{Report, notes};
use crate::format::plural;
use crate::{format, plan::Style, terminal};
use std::fmt::Write;

/// Columns of the default table are left out until it fits both 100 characters and the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Every figure.
    Wide,
    /// The default table, within that many characters if they are known.
    Within(Option<usize>),
}

/// For standard output.
pub fn width(wide: bool) -> Width {
    if wide { Width::Wide } else { Width::Within(terminal::width()) }
}

pub fn text(report: &Report, style: Style, width: Width) -> String {
    let experiment = &report.experiment;
    let colon = if experiment.description.is_empty() { "" } else { ": " };
    let mut out = format!("{}{colon}{}\n{}\n\n", experiment.name, experiment.description, notes::common(report));
    let mut hidden = 0;
    if report.rows.is_empty() {
        out.push_str("No trial was run.\n");
    }
    for (index, table) in rendered_tables(report, style, width == Width::Wide).into_iter().enumerate() {
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
    let mut legend = notes::legend(report, width == Width::Wide);
    if hidden > 0 {
        legend.push(format!("{} left out to fit: --wide shows every figure.", plural(hidden, "column")));
    }
    let answers = answers(report).iter().map(|line| wrapped(line)).collect();
    for lines in [answers, legend, notes::concerns(report), notes::circumstances(report)] {
        if !lines.is_empty() {
            out.push('\n');
        }
        for line in lines {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// Breaks a sentence between its clauses.
fn wrapped(sentence: &str) -> String {
    let mut out = String::new();
    let mut length = 0;
    for clause in sentence.split_inclusive("; ") {
        let clause_length = clause.trim_end().chars().count();
        if length > 0 && length + clause_length > WIDEST {
            out.truncate(out.trim_end().len());
            out.push_str("\n  ");
            length = 2;
        }
        out.push_str(clause);
        length += clause.chars().count();
    }
    out
}

fn fitting(mut table: RenderedTable, width: Width) -> (String, usize) {
    let all = table.columns.len();
    loop {
        let text = render(&table);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let fits = match width {
            Width::Wide => true,
            Width::Within(terminal) => widest <= terminal.unwrap_or(WIDEST).min(WIDEST),
        };
        if fits || !drop_least(&mut table.columns) {
            return (text, all - table.columns.len());
        }
    }
}

fn render(table: &RenderedTable) -> String {
    let RenderedTable { columns, groups, headings, .. } = table;
    let heads: Vec<String> = columns.iter().map(|column| column.header.join("\n")).collect();
    // No separators if every group is a single row without a heading.
    let has_groups = !headings.is_empty() || groups.windows(2).any(|pair| pair[0] == pair[1]);
    let rows = groups.iter().enumerate().flat_map(|(index, group)| {
        let is_first = has_groups && (index == 0 || groups[index - 1] != *group);
        let row = columns.iter().map(|column| column.cells[index].clone()).collect();
        is_first.then(|| vec![String::new(); columns.len()]).into_iter().chain([row])
    });
    let text = format::table(&heads, |column| columns[column].right, rows);
    // The separators are the empty lines.
    let mut parts = text.split("\n\n");
    let first = parts.next().unwrap_or_default().to_owned();
    let headings = headings.iter().map(|heading| format!(" {heading}\n")).chain(std::iter::repeat(String::new()));
    parts.zip(headings).fold(first, |text, (part, heading)| format!("{text}\n\n{heading}{part}"))
}
