//! The report as one self-contained HTML page.
//!
//! Without scripts it shows tables, bars and SVG charts; with scripts every point has a tooltip with interval, verdict
//! and machine. The page loads nothing from the network.

mod data;
mod detail;
mod markup;
mod ratios;
mod views;

use super::{Report, Run, charts, multi_run::merged};
use crate::{format, run_directory::RunDirectory};
use std::io;

/// Word for a trial without a result, used beside those of [`brunt_results::verdict::Kind`].
const FAILED: &str = "failed";

/// Page size in bytes beyond which SVG charts for readers without scripts are omitted.
const ENOUGH: usize = 480_000;

const TEMPLATE: &str = include_str!("html/assets/page.html");
const STYLES: [&str; 2] = [include_str!("html/assets/uPlot.min.css"), include_str!("html/assets/page.css")];
/// uPlot, MIT licence: see `uPlot.LICENSE` beside it.
const UPLOT: &str = concat!(
    "/*! uPlot 1.6.32, Copyright (c) 2022 Leon Sorokin, MIT License */\n",
    include_str!("html/assets/uPlot.iife.min.js")
);
/// In dependency order.
const SCRIPTS: [&str; 8] = [
    include_str!("html/assets/figures.js"),
    include_str!("html/assets/marks.js"),
    include_str!("html/assets/tip.js"),
    include_str!("html/assets/plot.js"),
    include_str!("html/assets/views.js"),
    include_str!("html/assets/rounds.js"),
    include_str!("html/assets/table.js"),
    include_str!("html/assets/start.js"),
];

/// Reads distributions and time series from the run directory; the page of a running experiment reloads itself.
pub fn page(report: &Report, store: &RunDirectory, is_running: bool) -> io::Result<String> {
    let run = Run { name: String::new(), report, store, place: String::new() };
    made(report, &[run], is_running)
}

pub fn page_of_runs(runs: &[Run]) -> io::Result<String> {
    match runs {
        [] => Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no run to make a page of")),
        [one] => made(one.report, runs, false),
        runs => made(&merged(runs), runs, false),
    }
}

fn made(report: &Report, runs: &[Run], is_running: bool) -> io::Result<String> {
    let charts = charts::charts(report);
    let views = views::views(report, &charts);
    let data = data::page_data(report, runs, &views, is_running);
    let json = serde_json::to_string(&data).map_err(io::Error::other)?;
    let (styles, script) = (lean(&STYLES.join("\n")), lean(&SCRIPTS.concat()));
    let around = styles.len() + UPLOT.len() + script.len() + TEMPLATE.len() + json.len();
    let body = markup::body(report, runs, &charts, &views, &data, ENOUGH.saturating_sub(around))?;
    let title = format::escaped(&report.experiment.name);
    // A `<` in a string must not end the element.
    Ok(filled(&title, &(markup::colours() + &styles), &body, &json.replace('<', "\\u003c"), &script))
}

/// The scripts of every page, as they stand between its tags: for a policy that allows no other.
pub fn page_scripts() -> Vec<String> {
    let page = filled("", "", "", "", &lean(&SCRIPTS.concat()));
    let scripts = page.split("<script>").skip(1);
    scripts.filter_map(|text| text.split_once("</script>")).map(|(script, _)| script.to_owned()).collect()
}

/// The template with these parts.
fn filled(title: &str, styles: &str, body: &str, data: &str, script: &str) -> String {
    let parts = [
        ("{title}", title),
        ("{styles}", styles),
        ("{body}", body),
        ("{data}", data),
        ("{uplot}", UPLOT),
        ("{script}", script),
    ];
    let mut out = String::new();
    let mut rest = TEMPLATE;
    for (place, text) in parts {
        let (before, after) = rest.split_once(place).expect("the template has every part, in this order");
        out.push_str(before);
        out.push_str(text);
        rest = after;
    }
    out + rest
}

fn lean(text: &str) -> String {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("//"));
    lines.map(|line| line.to_owned() + "\n").collect()
}
