//! Per-second figures of one trial of a row, from `series.jsonl` of the repeat with the median throughput.

use super::spectrum::significant;
use crate::{report::Row, run_directory::RunDirectory};
use serde::{Deserialize, Serialize};
use std::fs;

/// Most seconds shown; longer series are thinned evenly.
const MAX_POINTS: usize = 240;

/// Per-second figures, one list per figure; a list is empty if no second has the figure.
#[derive(Debug, Serialize)]
pub struct TimeSeries {
    repeat: u32,
    /// End of the warm-up, in seconds since the load began.
    warm: f64,
    /// End of each second, in seconds since the load began.
    at: Vec<f64>,
    rate: Vec<Option<f64>>,
    /// Response p99 of the second, in microseconds.
    p99: Vec<Option<f64>>,
    /// Server CPU, user and kernel, in percent of a core.
    cpu: Vec<Option<f64>>,
}

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

/// Reads the series; `None` if there is none.
pub fn of(row: &Row, store: &RunDirectory) -> Option<TimeSeries> {
    let repeat = median_repeat(row)?;
    let text = fs::read_to_string(store.trial(row.cell.id(), repeat).join("series.jsonl")).ok()?;
    // Skips lines truncated by a crash.
    let all: Vec<Line> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let begins = std::iter::once(0.0).chain(all.iter().map(|line| line.at_s));
    let lengths: Vec<f64> = all.iter().zip(begins).map(|(line, begin)| line.at_s - begin).collect();
    let warm = all.iter().filter(|line| line.warmup).map(|line| line.at_s).fold(0.0, f64::max);
    let step = all.len().div_ceil(MAX_POINTS).max(1);
    let kept: Vec<(&Line, f64)> = all.iter().zip(lengths).filter(|(_, length)| *length > 0.0).step_by(step).collect();
    let series = TimeSeries {
        repeat,
        warm: significant(warm, 5),
        at: kept.iter().map(|(line, _)| significant(line.at_s, 4)).collect(),
        rate: list(&kept, 5, |line, length| Some(line.completed? as f64 / length)),
        p99: list(&kept, 4, |line, _| line.p99_us),
        cpu: list(&kept, 4, |line, _| Some(line.server_cpu_user_percent? + line.server_cpu_system_percent?)),
    };
    (!kept.is_empty()).then_some(series)
}

fn list(lines: &[(&Line, f64)], digits: usize, figure: impl Fn(&Line, f64) -> Option<f64>) -> Vec<Option<f64>> {
    let value = |(line, length): &(&Line, f64)| figure(line, *length).filter(|value| value.is_finite());
    let all: Vec<_> = lines.iter().map(|line| value(line).map(|value| significant(value, digits))).collect();
    if all.iter().all(Option::is_none) { Vec::new() } else { all }
}

fn median_repeat(row: &Row) -> Option<u32> {
    let median = row.figures.rate?.median;
    let distance = |rate: &f64| (rate - median).abs();
    row.rates.iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))).map(|(repeat, _)| *repeat)
}
