//! Bencher's metric format: each cell a benchmark, its figures as measures with intervals. Times in nanoseconds.

use super::estimate::{self, Estimate};
use super::trials::{Group, Trials};
use brunt_results::figure::{self, Figure, Unit};
use serde_json::{Map, Value, json};

pub(super) fn value(trials: &Trials, tag: &str) -> Value {
    let benchmark = |group: &Group| (group.name(), Value::Object(measures(group, tag)));
    Value::Object(trials.groups.iter().map(benchmark).collect())
}

fn measures(group: &Group, tag: &str) -> Map<String, Value> {
    let measure = |figure: &'static Figure| {
        let Estimate { median, low, high } = estimate::of(group, |result| estimate::figure(result, tag, figure.key))?;
        let factor = if figure.unit == Unit::Us { 1e3 } else { 1.0 };
        let metric = json!({"value": median * factor, "lower_value": low * factor, "upper_value": high * factor});
        Some((figure.measure.to_owned(), metric))
    };
    figure::all().filter(|figure| !figure.measure.is_empty()).filter_map(measure).collect()
}
