//! The interval of the p99 of a row.

use super::Row;
use crate::run_directory::RunDirectory;
use brunt_results::{figure, hlog};
use brunt_statistics::batch_means::{Batch, ranks, share};
use brunt_statistics::{CONFIDENCE, Interval, median_interval, spread};
use std::fs;

const QUANTILE: f64 = 0.99;

/// The interval of the p99 in microseconds: the wider of the one over the repeats and the one within the median repeat, from
/// its per-second interval log. `None` if the median repeat has no readable log.
pub fn p99_interval(row: &Row, store: &RunDirectory) -> Option<Interval> {
    let middle = row.figures.get(&figure::P99)?;
    let (repeat, _) = row.p99s_us.iter().find(|(_, p99_us)| *p99_us == middle)?;
    let within = p99_interval_within(&fs::read(store.trial(row.cell.id(), *repeat).join("latency.hlog")).ok()?)?;
    let values: Vec<f64> = row.p99s_us.iter().map(|(_, p99_us)| *p99_us).collect();
    let range = spread(values.iter().copied().map(Some)).map(|spread| Interval { low: spread.low, high: spread.high });
    let between = median_interval(&values, CONFIDENCE).or(range);
    Some(between.map_or(within, |between| within.wider(between)))
}

/// Interval of the p99 from one run alone; `None` if its log is unreadable or too short.
fn p99_interval_within(log: &[u8]) -> Option<Interval> {
    // Read twice: the intervals of a long load may be more than fit into memory.
    let whole = hlog::distribution(log, "response").ok()?;
    let quantile = whole.value_at_quantile(QUANTILE);
    let mut batches: Vec<Batch> = Vec::new();
    let add = |hlog::Interval { length_s, values, .. }| {
        // Partial seconds, and replies after the window, would inflate the variance between seconds.
        if length_s > 0.95 {
            batches.push(Batch { count: values.total(), below: values.up_to(quantile) });
        }
        Ok(())
    };
    hlog::each(log, "response", add).ok()?;
    let ranks = ranks(QUANTILE, &share(&batches)?, CONFIDENCE);
    let us = |share: f64| whole.value_at_quantile(share) as f64 / 1e3;
    Some(Interval { low: us(ranks.low), high: us(ranks.high) })
}
