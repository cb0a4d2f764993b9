//! The course of one trial of a row: what its `series.jsonl` says of each second, of the repeat whose throughput is the
//! median one.

use super::data::{Rough, Short};
use crate::{report::Row, run_directory::RunDirectory};
use serde::{Deserialize, Serialize};
use std::fs;

/// More seconds than a plot has room for are left out evenly.
const MOST: usize = 240;

/// The seconds, a list a figure; empty where no second has the figure.
#[derive(Debug, Serialize)]
pub struct TimeSeries {
    /// The repeat they are of.
    repeat: u32,
    /// When the measured window began, in seconds since the load began.
    warm: Short,
    /// The end of each, in seconds since the load began.
    at: Vec<Rough>,
    /// Completed requests per second.
    rate: Vec<Option<Short>>,
    /// Response time, 99th percentile of that second, in microseconds.
    p99: Vec<Option<Rough>>,
    /// CPU of the server, user and kernel.
    cpu: Vec<Option<Rough>>,
}

/// What is read of a line; a tester that is not ours says less than `brunt load`.
#[derive(Debug, Deserialize)]
struct Line {
    at_s: f64,
    #[serde(default)]
    warmup: bool,
    completed: Option<u64>,
    p99_us: Option<f64>,
    server_cpu_user_percent: Option<f64>,
    server_cpu_system_percent: Option<f64>,
}

/// Reads them; `None` if there are none.
pub fn of(row: &Row, store: &RunDirectory) -> Option<TimeSeries> {
    let repeat = middle(row)?;
    let text = fs::read_to_string(store.trial(&row.cell.id, repeat).join("series.jsonl")).ok()?;
    // A line cut short by a crash is no reason to show none.
    let all: Vec<Line> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let begins = std::iter::once(0.0).chain(all.iter().map(|line| line.at_s));
    let lengths: Vec<f64> = all.iter().zip(begins).map(|(line, begin)| line.at_s - begin).collect();
    let warm = all.iter().filter(|line| line.warmup).map(|line| line.at_s).fold(0.0, f64::max);
    let every = all.len().div_ceil(MOST).max(1);
    let kept: Vec<(&Line, f64)> = all.iter().zip(lengths).filter(|(_, length)| *length > 0.0).step_by(every).collect();
    let seconds = TimeSeries {
        repeat,
        warm: Short(warm),
        at: kept.iter().map(|(line, _)| Short(line.at_s)).collect(),
        rate: list(&kept, |line, length| Some(line.completed? as f64 / length)),
        p99: list(&kept, |line, _| line.p99_us),
        cpu: list(&kept, |line, _| Some(line.server_cpu_user_percent? + line.server_cpu_system_percent?)),
    };
    (!kept.is_empty()).then_some(seconds)
}

fn list<const MORE: usize>(
    lines: &[(&Line, f64)],
    figure: impl Fn(&Line, f64) -> Option<f64>,
) -> Vec<Option<Short<MORE>>> {
    let all: Vec<Option<Short<MORE>>> =
        lines.iter().map(|(line, length)| figure(line, *length).filter(|value| value.is_finite()).map(Short)).collect();
    if all.iter().all(Option::is_none) { Vec::new() } else { all }
}

/// The repeat whose throughput is nearest to the median.
fn middle(row: &Row) -> Option<u32> {
    let median = row.figures.rate?.median;
    let distance = |rate: &f64| (rate - median).abs();
    row.rates.iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))).map(|(repeat, _)| *repeat)
}
