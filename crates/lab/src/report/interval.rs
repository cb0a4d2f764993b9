//! Interval of the p99 of a row: the wider of the one over its repeats and the one within the median repeat.
//!
//! Reads the per-second interval log of the median repeat.

use super::Row;
use crate::run_directory::RunDirectory;
use crate::stats::batch_means::{Batch, ranks, share};
use crate::stats::median_interval::median_interval;
use crate::stats::{CONFIDENCE, Interval, spread};
use brunt_results::hlog;
use std::fs;

const QUANTILE: f64 = 0.99;

/// The interval of the p99 in microseconds; `None` if the median repeat has no readable log.
pub(super) fn p99(row: &Row, store: &RunDirectory) -> Option<Interval> {
    let middle = row.figures.p99_us?;
    let (repeat, _) = row.p99s_us.iter().find(|(_, p99_us)| *p99_us == middle)?;
    let within = within(&fs::read(store.trial(row.cell.id(), *repeat).join("latency.hlog")).ok()?)?;
    let values: Vec<f64> = row.p99s_us.iter().map(|(_, p99_us)| *p99_us).collect();
    let range = spread(values.iter().copied().map(Some)).map(|spread| Interval { low: spread.low, high: spread.high });
    let between = median_interval(&values, CONFIDENCE).or(range);
    Some(between.map_or(within, |between| within.wider(between)))
}

/// Interval of the p99 from one run alone; `None` if its log is unreadable or too short.
fn within(log: &[u8]) -> Option<Interval> {
    let seconds = hlog::read(log, "response").ok()?;
    let whole = hlog::sum(&seconds).ok()?;
    let quantile = whole.value_at_quantile(QUANTILE);
    // Partial seconds, and replies after the window, would inflate the variance between seconds.
    let seconds = seconds.iter().filter(|second| second.length_s > 0.95);
    let batch =
        |values: &hdrhistogram::Histogram<u64>| Batch { count: values.len(), below: values.count_between(0, quantile) };
    let batches: Vec<Batch> = seconds.map(|second| batch(&second.values)).collect();
    let ranks = ranks(QUANTILE, &share(&batches)?, CONFIDENCE);
    let us = |share: f64| whole.value_at_quantile(share) as f64 / 1e3;
    Some(Interval { low: us(ranks.low), high: us(ranks.high) })
}
