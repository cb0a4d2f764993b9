//! Summary figures of a latency distribution, always taken from a histogram, never averaged.
//!
//! A request that got no complete reply took longer than it has waited, and counts as longer than every answered one. Its time
//! is a lower bound, as of a *censored* sample in survival analysis (Kaplan, Meier: Nonparametric estimation from incomplete
//! observations, 1958). docs/reference/statistics.md has an example.

use crate::percentile::Percentile;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The figures of one distribution, in microseconds. Of an empty distribution, all figures are absent, never zero.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Number of values recorded.
    pub count: u64,
    /// How many of the values are lower bounds: those of requests without a complete reply, each of which counts as longer than
    /// every answered one. A percentile that falls among them, the mean and the largest value are lower bounds then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub censored: u64,
    /// Arithmetic mean.
    pub mean_us: Option<f64>,
    /// Median.
    pub p50_us: Option<f64>,
    /// 90th percentile.
    pub p90_us: Option<f64>,
    /// 95th percentile.
    #[serde(default)]
    pub p95_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    pub p999_us: Option<f64>,
    /// Largest value.
    pub max_us: Option<f64>,
    /// Further percentiles that were asked for, by name (`p99.99`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub percentiles_us: BTreeMap<String, f64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
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
            censored: 0,
            mean_us: Some(histogram.mean() / 1e3),
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p95_us: quantile(0.95),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: us(histogram.max()),
            percentiles_us: BTreeMap::new(),
        }
    }

    /// As [`Self::of`], with these percentiles too.
    pub fn with(percentiles: &[Percentile], histogram: &Histogram<u64>) -> Self {
        let mut summary = Self::of(histogram);
        summary.add(percentiles, histogram);
        summary
    }

    /// As [`Self::with`], of the times of answered requests, and of how long others waited for a reply that did not come.
    pub fn censored(percentiles: &[Percentile], answered: &Histogram<u64>, censored: Option<&Histogram<u64>>) -> Self {
        let Some(censored) = censored.filter(|waits| !waits.is_empty()) else {
            return Self::with(percentiles, answered);
        };
        let mut all = answered.clone();
        add_censored(&mut all, censored, answered.max());
        Self { censored: censored.len(), ..Self::with(percentiles, &all) }
    }

    /// The share of lower bounds in percent; `None` without values.
    pub fn censored_percent(&self) -> Option<f64> {
        (self.count > 0).then(|| self.censored as f64 / self.count as f64 * 100.0)
    }

    /// Whether the figure of this name is a lower bound.
    pub fn is_bound(&self, figure: &str) -> bool {
        let rank = |quantile: f64| ((quantile * self.count as f64).ceil() as u64).max(1);
        let is_among = |percentile: Percentile| rank(percentile.quantile()) > self.count.saturating_sub(self.censored);
        self.censored > 0 && named(figure).is_none_or(is_among)
    }

    /// Adds percentiles of the same histogram.
    pub fn add(&mut self, percentiles: &[Percentile], histogram: &Histogram<u64>) {
        let further = percentiles.iter().filter(|percentile| self.standard(**percentile).is_none());
        let values = further.map(|p| (p.to_string(), histogram.value_at_quantile(p.quantile()) as f64 / 1e3));
        let values: Vec<_> = values.filter(|_| !histogram.is_empty()).collect();
        self.percentiles_us.extend(values);
    }

    /// A percentile that every summary has; the outer `None` if it is another one.
    fn standard(&self, percentile: Percentile) -> Option<Option<f64>> {
        let all =
            [(50.0, self.p50_us), (90.0, self.p90_us), (95.0, self.p95_us), (99.0, self.p99_us), (99.9, self.p999_us)];
        all.into_iter().find(|(percentage, _)| percentile.percentage() == *percentage).map(|(_, value)| value)
    }

    /// The figure named `p99`, `mean`, ..., in microseconds; the outer `None` if there is no such figure.
    pub fn figure(&self, name: &str) -> Option<Option<f64>> {
        match name {
            "mean" => Some(self.mean_us),
            "max" => Some(self.max_us),
            name => {
                let percentile = named(name)?;
                let further = || self.percentiles_us.get(&percentile.to_string()).copied();
                Some(self.standard(percentile).unwrap_or_else(further))
            }
        }
    }
}

/// Adds the waits of requests without a complete reply to response times: each as long as it is, and at least as long as the
/// `longest` answered.
pub fn add_censored(times: &mut Histogram<u64>, censored: &Histogram<u64>, longest: u64) {
    for waits in censored.iter_recorded() {
        times.saturating_record_n(waits.value_iterated_to().max(longest), waits.count_at_value());
    }
}

/// The percentile of a figure such as `p99`; `None` if it is another figure.
pub fn named(figure: &str) -> Option<Percentile> {
    figure.starts_with('p').then(|| figure.parse().ok()).flatten()
}

/// The share of values beyond the percentile `figure`; `None` if it is not a percentile.
pub fn share_beyond(figure: &str) -> Option<f64> {
    named(figure).map(Percentile::share_beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_a_reply_are_longer_than_every_answered_one() {
        let [mut answered, mut censored] = [(); 2].map(|()| new_histogram());
        answered.record_n(1_000_000, 95).unwrap();
        answered.record_n(8_000_000, 1).unwrap();
        // Resets after 0.1 ms, and a timeout of 1 s.
        censored.record_n(100_000, 3).unwrap();
        censored.record_n(1_000_000_000, 1).unwrap();
        let further = ["96", "97", "99.5"].map(|text| text.parse().unwrap());
        let all = LatencySummary::censored(&further, &answered, Some(&censored));
        assert_eq!((all.count, all.censored), (100, 4));
        for (figure, ms, is_bound) in
            [("p50", 1.0, false), ("p96", 8.0, false), ("p97", 8.0, true), ("p99", 8.0, true), ("p99.5", 1e3, true)]
        {
            let found = all.figure(figure).flatten().unwrap() / 1e3;
            assert!((found / ms - 1.0).abs() < 0.002 && all.is_bound(figure) == is_bound, "{figure} {found}");
        }
        assert!(all.is_bound("mean") && all.is_bound("max"));
        let none = LatencySummary::censored(&[], &answered, None);
        assert_eq!(none, LatencySummary::of(&answered));
        assert!(!none.is_bound("max") && !none.is_bound("p99.9"));
        let text = serde_json::to_string(&none).unwrap();
        assert!(!text.contains("censored"), "{text}");
    }

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
        let mut chosen = summary.clone();
        chosen.add(&["95", "99.99", "p999"].map(|text| text.parse().unwrap()), &histogram);
        assert_eq!(chosen.percentiles_us.keys().collect::<Vec<_>>(), ["p99.99"]);
        assert!((chosen.figure("p99.99").unwrap().unwrap() / 999.9 - 1.0).abs() < 0.001);
        assert_eq!(chosen.figure("p95"), Some(summary.p95_us));
        assert_eq!((summary.figure("p99.99"), summary.figure("pace"), summary.figure("95")), (Some(None), None, None));
    }
}
