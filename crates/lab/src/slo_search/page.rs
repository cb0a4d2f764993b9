//! The result of a search as one self-contained HTML page: the answer, the curve, every rate, the doubts and the commands.

use super::curve::curve;
use super::text::{HEADER, WORDS, closing, row, rows};
use super::{SearchReport, Step};
use crate::report::document::{Document, commands, header, list, table};
use std::io;

/// `started` are the command lines of the target and of the search, by what they started.
pub fn page(found: &SearchReport, started: &[(String, String)]) -> io::Result<String> {
    let title = format!("{}: {}", found.url, found.slo);
    let notes: Vec<String> = found.doubts.iter().chain(&found.times).cloned().collect();
    let verdict = HEADER.iter().position(|head| *head == "verdict").unwrap_or(WORDS);
    // The first column, then the verdict.
    let second = |mut cells: Vec<String>| {
        let cell = cells.remove(verdict);
        cells.insert(1, cell);
        cells
    };
    let heads = second(HEADER.map(str::to_owned).into());
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let line = |step: &&Step| second(row(step, found));
    let lines: Vec<Vec<String>> = rows(found).iter().map(line).collect();
    // One text column has gone to the front.
    let is_number = |column: usize| column != 1 && column <= WORDS;
    let doubts = if notes.is_empty() { String::new() } else { format!("<h2>Doubts</h2>\n{}", list(&notes)) };
    let body = format!(
        "<header>\n{}</header>\n<div class=\"still\">{}</div>\n<h2>Every rate</h2>\n{}{doubts}{}",
        header(&title, &[closing(found)], &[]),
        curve(found)?,
        table("Every rate", &heads, &lines, is_number),
        commands(started)
    );
    Ok(Document { title, body, tail: String::new(), results: None }.html())
}
