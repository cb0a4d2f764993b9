//! The report as Markdown.

use super::answers::answers;
use super::charts::{Chart, charts};
use super::tables::{Column, RenderedTable, rendered_tables};
use super::{Report, notes};
use crate::{plan::Style, run_directory::CHARTS_FOLDER};
use std::fmt::Write;

pub fn markdown(report: &Report, style: Style) -> String {
    let experiment = &report.experiment;
    let mut out = format!("# {}\n\n", experiment.name);
    for line in [&experiment.description, &notes::common(report)] {
        if !line.is_empty() {
            let _ = writeln!(out, "{}\n", escaped(line));
        }
    }
    for line in answers(report) {
        let _ = writeln!(out, "**{}**\n", escaped(&line));
    }
    if report.rows.is_empty() {
        out.push_str("No trial was run.\n");
    }
    let charts = charts(report);
    let tables = rendered_tables(report, style, false);
    for (index, rendered) in tables.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if !rendered.title.is_empty() {
            let _ = writeln!(out, "## {}\n", escaped(&rendered.title));
        }
        table(&mut out, rendered);
        // Charts follow their own table; in other layouts, the last table.
        let is_here = |chart: &&Chart| match style {
            Style::Plain => chart.table == index,
            _ => index + 1 == tables.len(),
        };
        let own: Vec<&Chart> = charts.iter().filter(is_here).collect();
        images(&mut out, &own);
    }
    if style == Style::Plain && !report.rows.is_empty() {
        every_figure(&mut out, report);
    }
    for lines in [notes::legend(report, true), notes::concerns(report), notes::circumstances(report)] {
        if !lines.is_empty() {
            out.push('\n');
        }
        for line in lines {
            let _ = writeln!(out, "- {}", escaped(&line));
        }
    }
    out
}

/// Links to the charts of a table; those beyond the first few are collapsed.
fn images(out: &mut String, charts: &[&Chart]) {
    const SHOWN: usize = 6;
    for (index, chart) in charts.iter().enumerate() {
        if index == SHOWN {
            let _ = write!(out, "\n<details><summary>{} more charts</summary>\n", charts.len() - SHOWN);
        }
        let title = escaped(&chart.title).replace(['[', ']', '\\', '\n'], " ");
        let _ = write!(out, "\n![{title}]({CHARTS_FOLDER}/{})\n", chart.file);
    }
    if charts.len() > SHOWN {
        out.push_str("\n</details>\n");
    }
}

/// The wide tables, folded.
fn every_figure(out: &mut String, report: &Report) {
    out.push_str("\n<details><summary>Every figure</summary>\n");
    // Those with a verdict are wider than the tables above; figures by name are the same.
    let tables = rendered_tables(report, Style::Plain, true).into_iter();
    for rendered in tables.filter(|table| table.columns.iter().any(Column::is_verdict)) {
        out.push('\n');
        if !rendered.title.is_empty() {
            let _ = writeln!(out, "{}\n", escaped(&rendered.title));
        }
        table(out, &rendered);
    }
    out.push_str("\n</details>\n");
}

fn table(out: &mut String, rendered: &RenderedTable) {
    let RenderedTable { columns, groups, headings, .. } = rendered;
    let line = |out: &mut String, cells: &mut dyn Iterator<Item = String>| {
        for cell in cells {
            let space = if cell.is_empty() { "" } else { " " };
            let _ = write!(out, "| {cell}{space}");
        }
        out.push_str("|\n");
    };
    line(out, &mut columns.iter().map(|column| escaped(column.header.join(" ").trim())));
    line(out, &mut columns.iter().map(|column| if column.right { "--:" } else { ":--" }.to_owned()));
    for row in 0..groups.len() {
        let is_first = row == 0 || groups[row - 1] != groups[row];
        if let Some(heading) = headings.get(groups[row]).filter(|_| is_first) {
            let empty = columns.iter().skip(1).map(|_| String::new());
            line(out, &mut std::iter::once(format!("**{}**", escaped(heading))).chain(empty));
        }
        line(out, &mut columns.iter().map(|column| escaped(&column.cells[row])));
    }
}

/// Escapes text from targets, such as their standard error.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
