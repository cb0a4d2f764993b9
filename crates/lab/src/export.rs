//! Results in other programs' formats. Pure transforms of what a directory holds: nothing is computed that is not in it,
//! and a figure that was not had stays away.

mod csv;
mod fortio;
mod hgrm;
mod hyperfine;
mod k6;
mod prometheus;
mod single_trial;
mod trials;
mod vegeta;

use crate::Error;
use single_trial::SingleTrial;
use std::path::Path;
use trials::Trials;

/// Tags of an interval log.
pub const TAGS: [&str; 4] = ["response", "service", "lag", "error"];
/// What [`hyperfine`] can take for a time.
pub const FIGURES: [&str; 7] = ["mean", "p50", "p90", "p99", "p99.9", "max", "cost"];

/// Every trial of a run, or the one result of `brunt load`, as a line of comma-separated values (RFC 4180): the values of its
/// cell, then every key of `result.json` by its path, as `latency.response.p99_us`. A figure that is `null` is empty.
///
/// # Errors
/// The directory holds no results, or they cannot be read.
pub fn csv(dir: &Path) -> Result<String, Error> {
    csv::text(&Trials::read(dir)?)
}

/// One distribution of a trial as HdrHistogram prints percentiles (`.hgrm`), in milliseconds, for its plotter and for
/// readers of wrk2's output.
///
/// # Errors
/// The directory holds no interval log, or it cannot be read, or has nothing of that tag.
pub fn hgrm(dir: &Path, tag: &str) -> Result<String, Error> {
    Ok(hgrm::text(&single_trial::distribution(dir, tag)?))
}

/// A trial as `fortio report` shows it: durations of one distribution in seconds, every bucket of the histogram.
///
/// # Errors
/// As [`hgrm`]; or the directory holds no result.
pub fn fortio(dir: &Path, tag: &str) -> Result<String, Error> {
    Ok(pretty(&fortio::value(&SingleTrial::read(dir, tag)?)))
}

/// A trial as `k6 run --summary-export` writes it: durations of one distribution in milliseconds.
///
/// # Errors
/// As [`fortio`].
pub fn k6(dir: &Path, tag: &str) -> Result<String, Error> {
    Ok(pretty(&k6::value(&SingleTrial::read(dir, tag)?)))
}

/// A trial as `vegeta report -type=json` writes it: durations of one distribution in nanoseconds.
///
/// # Errors
/// As [`fortio`].
pub fn vegeta(dir: &Path, tag: &str) -> Result<String, Error> {
    Ok(pretty(&vegeta::value(&SingleTrial::read(dir, tag)?)))
}

/// Every cell of a run as `hyperfine --export-json` writes a command: one of [`FIGURES`] of each repeat, in seconds.
///
/// # Errors
/// As [`csv`]; or no trial has that figure.
pub fn hyperfine(dir: &Path, tag: &str, figure: &str) -> Result<String, Error> {
    let value = hyperfine::value(&Trials::read(dir)?, tag, figure);
    let nothing = || Error::Usage(format!("{} holds no {figure} of '{tag}'", dir.display()));
    value.map(|value| pretty(&value)).ok_or_else(nothing)
}

/// Every trial as Prometheus scrapes it: histograms in seconds, and all figures that are no times.
///
/// # Errors
/// As [`csv`].
pub fn prometheus(dir: &Path) -> Result<String, Error> {
    prometheus::text(&Trials::read(dir)?)
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}
