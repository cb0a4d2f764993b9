//! Export of results to formats of other programs. Only converts recorded data; unavailable figures are omitted.

mod bencher;
mod csv;
mod estimate;
pub mod exposition;
mod fortio;
mod github;
mod hgrm;
mod hyperfine;
mod k6;
mod prometheus;
mod single_trial;
mod slices;
mod trials;
mod vegeta;

use brunt_results::Error;
use brunt_results::figure::in_order;
use single_trial::SingleTrial;
use std::path::Path;
use trials::Trials;

/// Tags of an interval log.
pub const TAGS: [&str; 4] = ["response", "service", "lag", "error"];

/// Names of the figures that [`github`] and [`hyperfine`] take.
pub fn figures() -> Vec<&'static str> {
    let first = ["mean", "p50", "p90", "p95", "p99", "p99.9", "max", "cost"];
    in_order(&first, |figure| figure.is_exported).into_iter().map(|figure| figure.key).collect()
}

/// Trials as comma-separated values (RFC 4180), one per line: the settings of the cell, then every key of
/// `result.json` by path, as `latency.response.p99_us`. `null` is empty.
pub fn csv(dir: &Path) -> Result<String, Error> {
    csv::text(&Trials::read(dir)?)
}

/// Slices as comma-separated values, one per line in the order they were made: the settings of the load, then what
/// `slices.jsonl` holds but for distributions and lists.
pub fn slices(dir: &Path) -> Result<String, Error> {
    slices::text(dir)
}

/// One distribution of a trial in HdrHistogram's percentile format (`.hgrm`), in milliseconds, as wrk2 prints it.
pub fn hgrm(dir: &Path, tag: &str) -> Result<String, Error> {
    let (times, note) = single_trial::distribution(dir, tag)?;
    Ok(hgrm::text(&times, note.as_deref()))
}

/// A trial in the format of `fortio load -json`: one distribution in seconds.
pub fn fortio(dir: &Path, tag: &str) -> Result<String, Error> {
    Ok(pretty(&fortio::value(&SingleTrial::read(dir, tag)?)))
}

/// A trial in the format of `k6 run --summary-export`: one distribution in milliseconds.
pub fn k6(dir: &Path, tag: &str) -> Result<String, Error> {
    Ok(pretty(&k6::value(&SingleTrial::read(dir, tag)?)))
}

/// A trial in the format of `vegeta report -type=json`: one distribution in nanoseconds.
pub fn vegeta(dir: &Path, tag: &str) -> Result<String, Error> {
    Ok(pretty(&vegeta::value(&SingleTrial::read(dir, tag)?)))
}

/// Cells in the format of `hyperfine --export-json`: one of [`figures`] for each repeat, in seconds.
pub fn hyperfine(dir: &Path, tag: &str, figure: &str) -> Result<String, Error> {
    let value = hyperfine::value(&Trials::read(dir)?, tag, figure);
    let nothing = || Error::Usage(format!("{} holds no {figure} of '{tag}'", dir.display()));
    value.map(|value| pretty(&value)).ok_or_else(nothing)
}

/// Cells for github-action-benchmark: one of [`figures`], the median of the repeats.
pub fn github(dir: &Path, tag: &str, figure: &str) -> Result<String, Error> {
    let value = github::value(&Trials::read(dir)?, tag, figure);
    let nothing = || Error::Usage(format!("{} holds no {figure} of '{tag}'", dir.display()));
    value.map(|value| pretty(&value)).ok_or_else(nothing)
}

/// Cells in Bencher's metric format.
pub fn bencher(dir: &Path, tag: &str) -> Result<String, Error> {
    Ok(pretty(&bencher::value(&Trials::read(dir)?, tag)))
}

/// Trials in Prometheus' text format: histograms in seconds, and all other figures.
pub fn prometheus(dir: &Path) -> Result<String, Error> {
    prometheus::text(&Trials::read(dir)?)
}

fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}
