//! The distribution of response times of a row: the interval logs of its repeats, added up and read off at percentiles
//! that are evenly spaced where it matters, towards the slow end.

use super::data::{Rough, Short};
use crate::{report::Row, run_directory::RunDirectory};
use brunt_results::{hlog, judge::BEYOND_QUANTILE, latency::new_histogram};
use std::fs;

/// How many percentiles lie between one and ten, ten and a hundred requests, and so on.
const STEPS: u32 = 8;
const DECADES: u32 = 6;

/// One over the share of requests above each percentile, from all to one in a million.
pub fn odds() -> impl Iterator<Item = f64> {
    // The round ones must come out exactly, for they bear names.
    (0..=STEPS * DECADES).map(|step| {
        let whole = 10f64.powi((step / STEPS) as i32);
        if step % STEPS == 0 { whole } else { whole * 10f64.powf(f64::from(step % STEPS) / f64::from(STEPS)) }
    })
}

/// Microseconds at each percentile, as far as there are requests enough; empty if no repeat has a log.
pub fn of(row: &Row, store: &RunDirectory) -> Vec<Rough> {
    let mut sum = new_histogram();
    for repeat in row.rates.keys() {
        let log = fs::read(store.trial(&row.cell.id, *repeat).join("latency.hlog"));
        let Ok(values) = log.map_err(|e| e.to_string()).and_then(|log| hlog::distribution(&log, "response")) else {
            continue;
        };
        if sum.add(&values).is_err() {
            return Vec::new();
        }
    }
    let count = sum.len() as f64;
    let is_supported = |odds: &f64| count / odds >= BEYOND_QUANTILE * (1.0 - 1e-9);
    odds().take_while(is_supported).map(|odds| Short(sum.value_at_quantile(1.0 - 1.0 / odds) as f64 / 1e3)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_percentiles_are_among_them() {
        let odds: Vec<f64> = odds().collect();
        assert!([1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6].iter().all(|round| odds.contains(round)), "{odds:?}");
        assert!(odds.is_sorted_by(|a, b| a < b));
    }
}
