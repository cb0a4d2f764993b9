//! Percentiles over repeats: those that a plan asks for beside the usual ones, and the interval of the p99.

use super::Row;
use crate::run_directory::RunDirectory;
use crate::stats::batch_means::{Batch, ranks, share};
use crate::stats::{CONFIDENCE, Interval, median_interval, percentile_median, spread, supported};
use brunt_results::{Percentile, RunResult, hlog};
use std::{collections::BTreeMap, fs};

/// In microseconds; `None` where too few requests support it.
pub type Percentiles = BTreeMap<Percentile, Option<f64>>;

/// The medians over results, of each percentile that any of them has.
pub fn medians(results: &[Box<RunResult>]) -> Percentiles {
    let response = || results.iter().map(|result| &result.latency.response);
    let value = |(name, of): (&String, Percentile)| {
        let values = response().map(|times| supported(times, of.quantile(), times.percentiles_us.get(name).copied()));
        (of, percentile_median(values))
    };
    let names = response().flat_map(|times| times.percentiles_us.keys());
    names.filter_map(|name| Some(value((name, name.parse().ok()?)))).collect()
}

const QUANTILE: f64 = 0.99;

/// The interval of the p99 in microseconds: the wider of the one over the repeats and the one within the median repeat, from
/// its per-second interval log. `None` if the median repeat has no readable log.
pub fn p99_interval(row: &Row, store: &RunDirectory) -> Option<Interval> {
    let middle = row.figures.p99_us?;
    let (repeat, _) = row.p99s_us.iter().find(|(_, p99_us)| *p99_us == middle)?;
    let within = p99_interval_within(&fs::read(store.trial(row.cell.id(), *repeat).join("latency.hlog")).ok()?)?;
    let values: Vec<f64> = row.p99s_us.iter().map(|(_, p99_us)| *p99_us).collect();
    let range = spread(values.iter().copied().map(Some)).map(|spread| Interval { low: spread.low, high: spread.high });
    let between = median_interval(&values, CONFIDENCE).or(range);
    Some(between.map_or(within, |between| within.wider(between)))
}

/// Interval of the p99 from one run alone; `None` if its log is unreadable or too short.
fn p99_interval_within(log: &[u8]) -> Option<Interval> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_median_of_the_results_and_absent_where_few_values_lie_beyond() {
        let result = |us: f64| {
            let mut result = Box::new(RunResult::new("brunt"));
            let response = &mut result.latency.response;
            response.count = 10_000;
            response.percentiles_us = [("p97.5".to_owned(), us), ("p99.99".to_owned(), us * 2.0)].into();
            result
        };
        let medians = medians(&[result(3.0), result(1.0), result(2.0)]);
        let expected = [("97.5", Some(2.0)), ("99.99", None)].map(|(text, us)| (text.parse().unwrap(), us));
        assert_eq!(medians, Percentiles::from(expected));
        assert_eq!(super::medians(&[]), Percentiles::new());
    }
}
