//! The result of a search as a curve, and as one self-contained HTML page.

use super::step::{SloOutcome, Step};
use super::text::{Table, WORDS, closing, table};
use super::{SearchReport, SearchResult};
use crate::format::escaped;
use crate::report::{Knee, KneePoint, Mark};
use std::io;

const STYLE: &str = include_str!("../report/html/assets/page.css");

/// The curve as an SVG file.
pub fn curve(found: &SearchReport) -> io::Result<String> {
    let (figure, bound_us) = match &found.bound {
        Some((figure, bound)) => (figure.clone(), Some(*bound)),
        None => ("p99".to_owned(), None),
    };
    let line = if bound_us.is_some() { "; orange line: the bound" } else { "" };
    let mut points: Vec<KneePoint> = found.steps.iter().map(|step| point(step, bound_us.is_some())).collect();
    points.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    let interval = match found.end {
        SearchResult::Holds { rate, breaks } => (Some(rate), Some(breaks)),
        SearchResult::HoldsAtMost { rate } => (Some(rate), None),
        SearchResult::GeneratorLimited { rate, limited } => (rate, Some(limited)),
        SearchResult::Never { lowest } => (None, Some(lowest)),
        SearchResult::Undecided { rate, breaks } => (rate, breaks),
    };
    let title = format!("{}: the highest rate at which {} holds", found.url, found.slo);
    Knee { title, subtitle: format!("{}{line}", closing(found)), figure, bound_us, points, interval }.svg()
}

fn point(step: &Step, is_bounded: bool) -> KneePoint {
    KneePoint {
        offered: step.rate,
        answered: step.answered,
        time_us: if is_bounded { step.slo_us } else { step.p99_us },
        mark: match step.outcome {
            SloOutcome::Holds => Mark::Holds,
            SloOutcome::Breaks => Mark::Breaks,
            SloOutcome::GeneratorLimited | SloOutcome::Unclear => Mark::Unclear,
        },
    }
}

/// The answer, the curve, every rate and the doubts. It loads nothing from the network.
pub fn page(found: &SearchReport) -> io::Result<String> {
    let cell = |number: usize, text: &str, tag: &str| {
        let class = if number < WORDS { " class=\"n\"" } else { "" };
        format!("<{tag}{class}>{}</{tag}>", escaped(text))
    };
    let line = |cells: &[String], tag: &str| {
        let cells = cells.iter().enumerate().map(|(number, text)| cell(number, text, tag));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let Table { head, rows } = table(found);
    let head = line(&head, "th");
    let body: String = rows.iter().map(|row| line(row, "td")).collect();
    let notes = found.doubts.iter().chain(&found.times);
    let notes: String = notes.map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
    let (url, slo) = (escaped(&found.url), escaped(&found.slo));
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:\">\n<meta name=\"generator\" content=\"brunt\">\n<title>{url}: {slo}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{url}</h1>\n<p class=\"answer\">{}</p>\n<div class=\"still\">{}</div>\n\
         <div class=\"scroll\"><table>\n<thead>{head}</thead>\n<tbody>\n{body}</tbody>\n</table></div>\n\
         <h2>Doubts</h2>\n<ul class=\"notes\">\n{notes}</ul>\n</main>\n</body>\n</html>\n",
        escaped(&closing(found)),
        curve(found)?,
    ))
}
