//! The course of one trial of a row: what its `series.jsonl` says of each second, of the repeat whose throughput is the
//! median one.

use super::data::Short;
use crate::{report::Row, store::Store};
use outcome::series::Second;
use serde::Serialize;
use std::fs;

/// More seconds than a plot has room for are left out evenly.
const MOST: usize = 240;

/// The seconds, a list a figure.
#[derive(Debug, Serialize)]
pub struct Seconds {
    /// The repeat they are of.
    repeat: u32,
    /// When the measured window began, in seconds since the load began.
    warm: Short,
    /// The end of each, in seconds since the load began.
    at: Vec<Short>,
    /// Completed requests per second.
    rate: Vec<Option<Short>>,
    /// Response time, 99th percentile of that second, in microseconds.
    p99: Vec<Option<Short>>,
    /// CPU of the server, user and kernel.
    cpu: Vec<Option<Short>>,
}

/// Reads them; `None` if there are none.
pub fn of(row: &Row, store: &Store) -> Option<Seconds> {
    let repeat = middle(row)?;
    let text = fs::read_to_string(store.trial(&row.cell.id, repeat).join("series.jsonl")).ok()?;
    // A line cut short by a crash is no reason to show none.
    let all: Vec<Second> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let begins = std::iter::once(0.0).chain(all.iter().map(|second| second.at_s));
    let lengths: Vec<f64> = all.iter().zip(begins).map(|(second, begin)| second.at_s - begin).collect();
    let warm = all.iter().filter(|second| second.warmup).map(|second| second.at_s).fold(0.0, f64::max);
    let every = all.len().div_ceil(MOST).max(1);
    let kept = || all.iter().zip(&lengths).filter(|(_, length)| **length > 0.0).step_by(every);
    let list = |figure: &dyn Fn(&Second, f64) -> Option<f64>| {
        kept().map(|(second, length)| figure(second, *length).filter(|value| value.is_finite()).map(Short)).collect()
    };
    let seconds = Seconds {
        repeat,
        warm: Short(warm),
        at: kept().map(|(second, _)| Short(second.at_s)).collect(),
        rate: list(&|second, length| Some(second.completed as f64 / length)),
        p99: list(&|second, _| second.p99_us),
        cpu: list(&|second, _| Some(second.server_cpu_user_percent? + second.server_cpu_system_percent?)),
    };
    (!seconds.at.is_empty()).then_some(seconds)
}

/// The repeat whose throughput is nearest to the median.
fn middle(row: &Row) -> Option<u32> {
    let median = row.figures.rate?.median;
    let distance = |rate: &f64| (rate - median).abs();
    row.rates.iter().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1))).map(|(repeat, _)| *repeat)
}
