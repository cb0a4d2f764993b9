//! Bencher's metric format: each cell a benchmark, its figures as measures with intervals. Times in nanoseconds.

use super::estimate::{self, Estimate};
use super::trials::{Group, Trials};
use serde_json::{Map, Value, json};

/// Name of the measure, the figure, and nanoseconds or requests per second in its unit. The first two are measures that
/// Bencher knows.
const MEASURES: [(&str, &str, f64); 6] = [
    ("throughput", "rate", 1.0),
    ("latency", "mean", 1e3),
    ("latency-p50", "p50", 1e3),
    ("latency-p99", "p99", 1e3),
    ("latency-p99-9", "p99.9", 1e3),
    ("cpu-time-per-request", "cost", 1e3),
];

pub(super) fn value(trials: &Trials, tag: &str) -> Value {
    let benchmark = |group: &Group| (group.name(), Value::Object(measures(group, tag)));
    Value::Object(trials.groups.iter().map(benchmark).collect())
}

fn measures(group: &Group, tag: &str) -> Map<String, Value> {
    let measure = |(name, figure, factor): (&str, &str, f64)| {
        let Estimate { median, low, high } = estimate::of(group, |result| estimate::figure(result, tag, figure))?;
        let metric = json!({"value": median * factor, "lower_value": low * factor, "upper_value": high * factor});
        Some((name.to_owned(), metric))
    };
    MEASURES.into_iter().filter_map(measure).collect()
}
