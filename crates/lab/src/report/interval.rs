//! How sure the p99 of a row is: between its repeats and within one of them, and the wider of the two.
//!
//! The only part of a report that reads more than `result.json` of a trial: the seconds of its interval log.

use super::Row;
use crate::{
    run_directory::RunDirectory,
    stats::{
        CONFIDENCE, Interval,
        batch_means::{Batch, ranks, share},
        bootstrap, percentile_median, spread,
    },
};
use brunt_results::hlog;
use std::fs;

const QUANTILE: f64 = 0.99;

/// The interval of the p99 in microseconds; `None` if no repeat tells it.
pub(super) fn p99(row: &Row, store: &RunDirectory) -> Option<Interval> {
    let middle = row.figures.p99_us?;
    let (repeat, _) = row.p99s_us.iter().find(|(_, p99_us)| *p99_us == middle)?;
    let within = within(&fs::read(store.trial(&row.cell.id, *repeat).join("latency.hlog")).ok()?)?;
    let values: Vec<f64> = row.p99s_us.iter().map(|(_, p99_us)| *p99_us).collect();
    let range = spread(values.iter().copied().map(Some)).map(|spread| Interval { low: spread.low, high: spread.high });
    let between = bootstrap::interval(&values, percentile_median, CONFIDENCE, 1).or(range);
    Some(between.map_or(within, |between| within.wider(between)))
}

/// Where the p99 of a run lies, judged by the run alone; `None` if its log cannot be read or is too short to tell.
fn within(log: &[u8]) -> Option<Interval> {
    let seconds = hlog::read(log, "response").ok()?;
    let whole = hlog::sum(&seconds).ok()?;
    let quantile = whole.value_at_quantile(QUANTILE);
    // Pieces of seconds, and what was answered after the window, would count as seconds that differ.
    let seconds = seconds.iter().filter(|second| second.length_s > 0.95);
    let batch =
        |values: &hdrhistogram::Histogram<u64>| Batch { count: values.len(), below: values.count_between(0, quantile) };
    let batches: Vec<Batch> = seconds.map(|second| batch(&second.values)).collect();
    let ranks = ranks(QUANTILE, &share(&batches)?, CONFIDENCE);
    let us = |share: f64| whole.value_at_quantile(share) as f64 / 1e3;
    Some(Interval { low: us(ranks.low), high: us(ranks.high) })
}
