//! The report's tables as HTML, without the optional end tags: they are most of a page.

use super::marks::{marker, verdicts};
use crate::format::escaped;
use crate::report::Report;
use crate::report::tables::columns::columns;
use crate::report::tables::{Selection, selections};
use std::fmt::Write;

pub fn all(report: &Report, targets: &[String]) -> String {
    let mut out = String::new();
    for part in selections(report).iter().filter(|table| !table.rows.is_empty()) {
        let title = if part.title.is_empty() { "Every cell" } else { &part.title };
        let _ = writeln!(out, "<h2>{}</h2>", escaped(title));
        one(&mut out, report, part, title, targets);
    }
    out
}

fn one(out: &mut String, report: &Report, part: &Selection, title: &str, targets: &[String]) {
    let columns = columns(&part.rows, part.over);
    let label = escaped(title);
    let _ = write!(out, "<div class=\"scroll\"><table class=\"cells\" aria-label=\"{label}\"><thead><tr>");
    for column in &columns {
        let name = column.header.join("\n");
        let class = if column.right { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th{class}><button>{}</button></th>", escaped(name.trim()));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (index, row) in part.rows.iter().enumerate() {
        let is_first = index > 0 && part.groups[index] != part.groups[index - 1];
        let number = report.index_of(row);
        let _ = write!(out, "<tr{} data-row={number}>", if is_first { " class=first" } else { "" });
        for column in &columns {
            let cell = &column.cells[index];
            let _ = match column.header[1].as_str() {
                "verdict" => write!(out, "<td>{}", verdicts(row)),
                "target" => {
                    let target = targets.iter().position(|name| name == cell).unwrap_or(0);
                    write!(out, "<td class=t>{}{}", marker(target), escaped(cell))
                }
                _ => write!(out, "<td>{}", escaped(cell)),
            };
        }
        out.push('\n');
    }
    out.push_str("</tbody></table></div>\n");
}
