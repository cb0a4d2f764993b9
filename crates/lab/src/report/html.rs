//! The report as one self-contained HTML page.
//!
//! Without scripts it shows tables, bars and SVG charts; with scripts every point has a tooltip with interval, verdict
//! and machine. The page loads nothing from the network.

mod comparison_page;
mod data;
mod detail;
pub(crate) mod document;
mod heat;
mod markup;
mod ratios;
mod views;

pub use comparison_page::{page_of_comparison, page_of_load_comparison};

use super::{Report, Run, charts, multi_run::merged};
use crate::run_directory::{RunDirectory, embedded::embedded};
use document::{Document, filled, in_script, lean};
use std::io;

/// Word for a trial without a result, used beside those of [`brunt_results::verdict::Kind`].
const FAILED: &str = "failed";

/// Page size in bytes beyond which SVG charts for readers without scripts are omitted.
const ENOUGH: usize = 480_000;

/// What follows the body of a page with plots.
const TAIL: &str = include_str!("html/assets/run.html");
/// uPlot, MIT licence: see `uPlot.LICENSE` beside it.
const UPLOT: &str = concat!(
    "/*! uPlot 1.6.32, Copyright (c) 2022 Leon Sorokin, MIT License */\n",
    include_str!("html/assets/uPlot.iife.min.js")
);
/// In dependency order.
const SCRIPTS: [&str; 10] = [
    include_str!("html/assets/figures.js"),
    include_str!("html/assets/marks.js"),
    include_str!("html/assets/tip.js"),
    include_str!("html/assets/keys.js"),
    include_str!("html/assets/plot.js"),
    include_str!("html/assets/views.js"),
    include_str!("html/assets/heat.js"),
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
    let results = match runs {
        [run] if !is_running => embedded(run.store, &run.report.experiment),
        _ => None,
    };
    let mut page = Document { title: report.experiment.name.clone(), body: String::new(), tail: tail(&json), results };
    let around = page.html().len();
    page.body = markup::body(report, runs, &charts, &views, &data, ENOUGH.saturating_sub(around))?;
    Ok(page.html())
}

/// The plots of a page and what they show.
fn tail(json: &str) -> String {
    let parts = [("{data}", in_script(json)), ("{uplot}", UPLOT.to_owned()), ("{script}", lean(&SCRIPTS.concat()))];
    filled(TAIL, &parts)
}

/// The scripts of every page, as they stand between its tags: for a policy that allows no other.
pub fn page_scripts() -> Vec<String> {
    let page = Document { title: String::new(), body: String::new(), tail: tail(""), results: None }.html();
    let scripts = page.split("<script>").skip(1);
    scripts.filter_map(|text| text.split_once("</script>")).map(|(script, _)| script.to_owned()).collect()
}
