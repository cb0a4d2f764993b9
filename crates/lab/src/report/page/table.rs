//! The report's tables as HTML: the same columns as everywhere, each cell as it is printed.

use super::markup::{mark, verdicts};
use crate::report::{
    Report,
    columns::{Column, columns},
    format::escaped,
    tables::{Table, tables},
};
use std::fmt::Write;

/// All tables that have rows, each beneath its title.
pub fn all(report: &Report, targets: &[String]) -> String {
    let mut out = String::new();
    for part in tables(report).iter().filter(|table| !table.rows.is_empty()) {
        let title = if part.title.is_empty() { "Every cell" } else { &part.title };
        let _ = writeln!(out, "<h2>{}</h2>", escaped(title));
        one(&mut out, report, part, targets);
    }
    out
}

fn one(out: &mut String, report: &Report, part: &Table, targets: &[String]) {
    let columns = columns(&part.rows, part.over);
    out.push_str("<div class=\"scroll\"><table class=\"cells\"><thead><tr>");
    for column in &columns {
        let name = column.header.join("\n");
        let _ = write!(out, "<th{}><button>{}</button></th>", class(column), escaped(name.trim()));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in part.rows.iter().enumerate() {
        let is_first = index > 0 && part.groups[index] != part.groups[index - 1];
        let number = report.place(row);
        let _ = write!(out, "<tr{} data-row=\"{number}\">", if is_first { " class=\"first\"" } else { "" });
        for column in &columns {
            let cell = &column.cells[index];
            let content = match column.header[1].as_str() {
                "verdict" => verdicts(row),
                "target" => {
                    let target = targets.iter().position(|name| name == cell).unwrap_or(0);
                    format!("<span class=\"swatch\">{}</span>{}", mark(target), escaped(cell))
                }
                _ => escaped(cell),
            };
            let _ = write!(out, "<td{}>{content}</td>", class(column));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn class(column: &Column) -> &'static str {
    if column.right { " class=\"n\"" } else { "" }
}
