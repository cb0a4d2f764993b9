//! The report as Markdown, for `report.md` and for pasting.

use super::{
    Report,
    columns::{Column, columns},
    notes,
    tables::tables,
};
use std::fmt::Write;

/// The whole report.
pub fn markdown(report: &Report) -> String {
    let experiment = &report.experiment;
    let mut out = format!("# {}\n\n", experiment.name);
    for line in [&experiment.description, &notes::common(report)] {
        if !line.is_empty() {
            let _ = writeln!(out, "{}\n", escaped(line));
        }
    }
    if report.rows.is_empty() {
        out.push_str("No trial was run.\n");
    }
    for (index, part) in tables(report).iter().filter(|table| !table.rows.is_empty()).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if !part.title.is_empty() {
            let _ = writeln!(out, "## {}\n", escaped(&part.title));
        }
        table(&mut out, &columns(&part.rows, part.over));
    }
    for lines in [notes::legend(report), notes::concerns(report), notes::circumstances(report)] {
        if !lines.is_empty() {
            out.push('\n');
        }
        for line in lines {
            let _ = writeln!(out, "- {}", escaped(&line));
        }
    }
    out
}

fn table(out: &mut String, columns: &[Column]) {
    let line = |out: &mut String, cells: &mut dyn Iterator<Item = String>| {
        for cell in cells {
            let _ = write!(out, "| {cell} ");
        }
        out.push_str("|\n");
    };
    line(out, &mut columns.iter().map(|column| escaped(column.header.join(" ").trim())));
    line(out, &mut columns.iter().map(|column| if column.right { "--:" } else { ":--" }.to_owned()));
    for row in 0..columns[0].cells.len() {
        line(out, &mut columns.iter().map(|column| escaped(&column.cells[row])));
    }
}

/// What a target wrote on its standard error must not become a table or a tag.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
