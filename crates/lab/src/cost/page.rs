//! The result as one self-contained HTML page: the answer, the pictures, every point, the lines, notes and the command.

use super::picture::picture;
use super::report::CostReport;
use super::text::{LINE_HEADS, POINT_HEADS, line_rows, point_rows, sentences};
use crate::report::document::{Document, commands, header, list, table};
use std::io;

pub fn page(report: &CostReport) -> io::Result<String> {
    let names: Vec<&str> = report.targets.iter().map(|target| target.target.as_str()).collect();
    let title = format!("CPU time over the rate: {}", names.join(", "));
    let command = ("measured by".to_owned(), report.env.command.join(" "));
    let notes =
        if report.notes.is_empty() { String::new() } else { format!("<h2>Notes</h2>\n{}", list(&report.notes)) };
    let body = format!(
        "<header>\n{}</header>\n<div class=\"still\">{}</div>\n<h2>Standing and marginal cost</h2>\n{}<h2>Every rate</h2>\n{}{notes}{}",
        header(&title, &sentences(report), &[]),
        picture(report)?,
        table("Standing and marginal cost", &LINE_HEADS, &line_rows(report), |column| (1..3).contains(&column)),
        table("Every rate", &POINT_HEADS, &point_rows(report), |column| (1..7).contains(&column)),
        commands(&[command])
    );
    Ok(Document { title, body, tail: String::new(), results: None }.html())
}
