//! Response time distribution of a row: the histograms of its repeats added, read at percentiles spaced evenly on a
//! logarithmic scale towards the slow end.

use crate::{report::Row, run_directory::RunDirectory, stats::supports_quantile};
use brunt_results::{hlog, latency::new_histogram};
use std::fs;

/// Percentiles per decade of requests.
const STEPS: u32 = 8;
const DECADES: u32 = 6;

/// For each percentile `p`, `1 / (1 - p)`: from 1 to a million.
pub fn odds() -> impl Iterator<Item = f64> {
    // Powers of ten must be exact: they are labelled.
    (0..=STEPS * DECADES).map(|step| {
        let whole = 10f64.powi((step / STEPS) as i32);
        if step % STEPS == 0 { whole } else { whole * 10f64.powf(f64::from(step % STEPS) / f64::from(STEPS)) }
    })
}

/// Microseconds at each percentile with enough requests beyond it; empty if no repeat has a log.
pub fn of(row: &Row, store: &RunDirectory) -> Vec<f64> {
    let mut sum = new_histogram();
    for repeat in row.rates.keys() {
        let log = fs::read(store.trial(row.cell.id(), *repeat).join("latency.hlog"));
        let Ok(values) = log.map_err(|e| e.to_string()).and_then(|log| hlog::distribution(&log, "response")) else {
            continue;
        };
        if sum.add(&values).is_err() {
            return Vec::new();
        }
    }
    let count = sum.len() as f64;
    odds()
        .take_while(|odds| supports_quantile(count, 1.0 / odds))
        .map(|odds| significant(sum.value_at_quantile(1.0 - 1.0 / odds) as f64 / 1e3, 4))
        .collect()
}

/// Rounds to a count of significant digits. Histograms hold three, rates and CPU times no more than five.
pub fn significant(value: f64, digits: usize) -> f64 {
    format!("{value:.0$e}", digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn significant_digits_are_kept() {
        assert_eq!(significant(123_456.7, 4), 123_500.0);
        assert_eq!(significant(0.001_234_56, 3), 0.001_23);
        assert!(significant(f64::NAN, 3).is_nan());
    }

    #[test]
    fn powers_of_ten_are_exact() {
        let odds: Vec<f64> = odds().collect();
        assert!([1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6].iter().all(|round| odds.contains(round)), "{odds:?}");
        assert!(odds.is_sorted_by(|a, b| a < b));
    }
}
