//! Summary figures of a latency distribution, always taken from a histogram, never averaged.

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figures of one distribution, in microseconds. Of an empty distribution, all figures are absent, never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Number of values recorded.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_us: Option<f64>,
    /// Median.
    pub p50_us: Option<f64>,
    /// 90th percentile.
    pub p90_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p999_us: Option<f64>,
    /// Largest value.
    pub max_us: Option<f64>,
}

/// The highest value that latency histograms record, in nanoseconds: 1 h.
pub const MAX_LATENCY_NS: u64 = 3_600_000_000_000;

/// An empty latency histogram: nanoseconds, three significant digits (0.1 % relative error), 1 ns to 1 h.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_LATENCY_NS, 3).expect("the bounds are constants that hdrhistogram accepts")
}

impl LatencySummary {
    /// The figures of a histogram of nanoseconds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let count = histogram.len();
        if count == 0 {
            return Self::default();
        }
        let us = |nanos: u64| Some(nanos as f64 / 1e3);
        let quantile = |q: f64| us(histogram.value_at_quantile(q));
        Self {
            count,
            mean_us: Some(histogram.mean() / 1e3),
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: us(histogram.max()),
        }
    }

    /// The figure named `p99`, `mean`, ..., in microseconds; the outer `None` if there is no such figure.
    pub fn figure(&self, name: &str) -> Option<Option<f64>> {
        Some(match name {
            "mean" => self.mean_us,
            "p50" => self.p50_us,
            "p90" => self.p90_us,
            "p99" => self.p99_us,
            "p99.9" | "p999" => self.p999_us,
            "max" => self.max_us,
            _ => return None,
        })
    }
}

/// The share of values beyond the percentile `figure`; `None` if it is not a percentile.
pub fn share_beyond(figure: &str) -> Option<f64> {
    let percentiles = [("p50", 0.5), ("p90", 0.1), ("p99", 0.01), ("p99.9", 0.001), ("p999", 0.001)];
    percentiles.iter().find(|(name, _)| *name == figure).map(|(_, share)| *share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_match_the_values_within_precision_or_are_absent() {
        let summary = LatencySummary::of(&new_histogram());
        assert_eq!(summary, LatencySummary::default());
        assert_eq!(serde_json::to_value(&summary).unwrap()["p99_us"], serde_json::Value::Null);
        let mut histogram = new_histogram();
        for nanos in 1..=100_000u64 {
            histogram.record(nanos * 10).unwrap();
        }
        let summary = LatencySummary::of(&histogram);
        for (figure, exact) in
            [(summary.p50_us, 500.0), (summary.p99_us, 990.0), (summary.p999_us, 999.0), (summary.max_us, 1000.0)]
        {
            assert!((figure.unwrap() / exact - 1.0).abs() < 0.001, "{figure:?} should be {exact}");
        }
    }
}
