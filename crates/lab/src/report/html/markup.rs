//! The page's body: header, legend, cards, tables, notes.

use super::data::PageData;
use super::marks::{FAILED, chip, marker, shapes};
use super::views::View;
use super::{bars, table};
use crate::format::{escaped, plural};
use crate::report::charts::{Body, Chart};
use crate::report::{Report, Run, notes};
use crate::run_directory::CHARTS_FOLDER;
use std::{collections::BTreeMap, fmt::Write, io};

/// The contents of `main`. SVG charts are added while the body stays below `room` bytes.
pub fn body(
    report: &Report,
    runs: &[Run],
    charts: &[Chart],
    views: &[View],
    data: &PageData,
    room: usize,
) -> io::Result<String> {
    let experiment = &report.experiment;
    let mut out = format!("<header>\n<h1>{}</h1>\n", escaped(&experiment.name));
    for (class, line) in [("lead", &experiment.description), ("faint", &notes::common(report))] {
        if !line.is_empty() {
            let _ = writeln!(out, "<p class=\"{class}\">{}</p>", escaped(line));
        }
    }
    out.push_str(&tally(report));
    out.push_str("</header>\n");
    if report.rows.is_empty() {
        out.push_str("<p>No trial was run.</p>\n");
    } else {
        out.push_str(&legend(data));
        let _ = writeln!(out, "<section class=\"grid\">\n{}</section>", cards(charts, views));
        out.push_str(&loads(data));
        out.push_str(&table::all(report, &data.targets));
    }
    out.push_str("<h2>How to read it, and where it was measured</h2>\n");
    if let [run] = runs {
        out.push_str(&list(&notes::concerns(run.report)));
    }
    out.push_str(&list(&notes::legend(report)));
    for run in runs {
        if runs.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escaped(&run.name));
            out.push_str(&list(&notes::concerns(run.report)));
        }
        out.push_str(&list(&notes::circumstances(run.report)));
    }
    let room = room.saturating_sub(out.len());
    out.push_str(&still(charts, room)?);
    out.push_str("<footer>Hover over a point for its interval, verdict and machine; click it for its trials. Drag across a plot to zoom in, double-click to zoom out. Hollow markers: most trials have a verdict other than ok.</footer>");
    Ok(out)
}

fn list(lines: &[String]) -> String {
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"notes\">\n{items}</ul>\n") }
}

fn tally(report: &Report) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &report.rows {
        for (kind, count) in &row.verdicts {
            *kinds.entry(kind.word()).or_default() += count;
        }
        if !row.failures.is_empty() {
            *kinds.entry(FAILED).or_default() += row.failures.len();
        }
    }
    let done: usize = kinds.values().sum();
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(kind, count)| (*kind != "ok", std::cmp::Reverse(*count)));
    let strip: String = kinds
        .iter()
        .map(|(kind, count)| {
            format!("<span class=\"v-{kind}\" style=\"flex:{count}\" title=\"{count} {kind}\"></span>")
        })
        .collect();
    let words: String = kinds.iter().map(|(kind, count)| chip(kind, *count, usize::MAX)).collect();
    let rest = if report.not_run > 0 { format!(" of {}", done + report.not_run) } else { String::new() };
    format!(
        "<div class=\"tally\"><div class=\"strip\">{strip}</div>{words} <span class=\"faint\">&nbsp; {}{rest}</span></div>\n",
        plural(done, "trial")
    )
}

fn legend(data: &PageData) -> String {
    let each = data.targets.iter().enumerate().map(|(number, name)| {
        format!("<button data-target=\"{number}\" aria-pressed=\"true\">{}{}</button>\n", marker(number), escaped(name))
    });
    format!("{}<nav id=\"targets\" aria-label=\"targets\">\n{}</nav>\n", shapes(), each.collect::<String>())
}

fn cards(charts: &[Chart], views: &[View]) -> String {
    let mut out = String::new();
    for (number, chart) in charts.iter().enumerate() {
        if let Body::Bars(body) = &chart.body {
            out.push_str(&bars::card(chart, body));
        }
        for (place, view) in views.iter().enumerate().filter(|(_, view)| view.chart == number) {
            let _ = writeln!(
                out,
                "<figure class=\"card needs-script\" data-view=\"{place}\"><figcaption><b>{}</b><span>{}</span></figcaption><div class=\"plot\"></div></figure>",
                escaped(&view.title),
                escaped(&view.subtitle)
            );
        }
    }
    out
}

/// Distribution and time series of a selectable load; empty without such data.
fn loads(data: &PageData) -> String {
    let has_detail = |load: &usize| data.rows.iter().any(|row| row.load == *load && row.has_detail());
    let loads: Vec<usize> = (0..data.loads.len()).filter(has_detail).collect();
    if loads.is_empty() {
        return String::new();
    }
    let name = |load: &usize| if data.loads[*load].is_empty() { "the one load" } else { &data.loads[*load] };
    let options: String =
        loads.iter().map(|load| format!("<option value=\"{load}\">{}</option>", escaped(name(load)))).collect();
    let card = |name: &str, title: &str, subtitle: &str| {
        format!(
            "<figure class=\"card\" data-detail=\"{name}\"><figcaption><b>{title}</b><span>{subtitle}</span></figcaption><div class=\"plot\"></div></figure>\n"
        )
    };
    let of_one = "of the repeat with the median throughput";
    format!(
        "<section class=\"needs-script\">\n<h2>Under one load</h2>\n<div class=\"picker\"><label for=\"load\">load</label><select id=\"load\" autocomplete=\"off\">{options}</select></div>\n<div class=\"grid\">\n{}{}{}{}</div>\n</section>\n",
        card("spectrum", "Latency spectrum", "response time, all repeats added up, log scale"),
        card("rate", "Throughput over time", of_one),
        card("p99", "Response p99 of each second", of_one),
        card("cpu", "Server CPU over time", of_one),
    )
}

fn still(charts: &[Chart], room: usize) -> io::Result<String> {
    let mut out = String::new();
    let mut left_out = 0;
    for chart in charts.iter().filter(|chart| matches!(chart.body, Body::Lines(_))) {
        let svg = compact(&chart.svg()?);
        if out.len() + svg.len() <= room {
            out.push_str(&svg);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        let _ =
            write!(out, "<p>{} more: see the folder {CHARTS_FOLDER} beside report.md.</p>", plural(left_out, "chart"));
    }
    Ok(if out.is_empty() {
        out
    } else {
        format!("<noscript><h2>Charts</h2><div class=\"still\">{out}</div></noscript>\n")
    })
}

/// Removes attributes that are set in the style sheet or are defaults: a third of the bytes.
fn compact(svg: &str) -> String {
    const REDUNDANT: [&str; 7] = [
        " xmlns=\"http://www.w3.org/2000/svg\"",
        " font-family=\"Helvetica, Arial, sans-serif\"",
        " font-size=\"12\"",
        " text-anchor=\"start\"",
        " opacity=\"1\"",
        " stroke=\"none\"",
        " stroke-width=\"1\"",
    ];
    REDUNDANT.iter().fold(svg.to_owned(), |svg, attribute| svg.replace(attribute, ""))
}
