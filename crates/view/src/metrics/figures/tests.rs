use super::super::{exposition, interval::Totals, otlp};
use super::*;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Every key of the series has a figure: setting it changes a value.
#[test]
fn every_figure_of_the_series_is_shown() {
    let zero = serde_json::to_value(Second::default()).unwrap();
    let values = |second: &Second| {
        let interval = Interval { second: second.clone(), end_ns: 1_000_000_000, ..Interval::default() };
        let counts = COUNTERS.iter().flat_map(|counter| (counter.values)(second)).map(|(_, count)| count as f64);
        counts
            .chain(gauges(&interval).into_iter().flat_map(|gauge| gauge.values).map(|(_, value)| value))
            .collect::<Vec<_>>()
    };
    let keys: &Map<String, Value> = zero.as_object().unwrap();
    for (key, value) in keys {
        let set = if value.is_boolean() { Value::Bool(true) } else { Value::from(7) };
        let mut changed = zero.clone();
        changed[key] = set;
        let changed: Second = serde_json::from_value(changed).unwrap();
        assert_ne!(values(&changed), values(&Second::default()), "{key} is in no figure");
    }
}

/// Compares text with a file of this folder.
fn golden(name: &str, actual: &str) {
    brunt_testkit::golden(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/metrics/figures").join(name), actual);
}

/// A second of 1.25 s with a value of its own for each key, or with those alone that every tester has.
fn interval(is_whole: bool, warmup: bool) -> Interval {
    let mut second = serde_json::to_value(Second::default()).unwrap();
    for (key, value) in second.as_object_mut().unwrap() {
        if value.is_number() || value.is_null() && is_whole {
            *value = json!(key.bytes().map(u64::from).sum::<u64>());
        }
    }
    second["warmup"] = json!(warmup);
    let second: Second = serde_json::from_value(second).unwrap();
    Interval { second, start_ns: 1_000_000_000, end_ns: 2_250_000_000, ..Interval::default() }
}

/// Names, units, words and values are an interface of monitoring systems.
#[test]
fn what_monitoring_systems_are_told() {
    let mut totals = Totals::default();
    let mut said = exposition::text(&totals, "tcp://localhost:1");
    for (is_whole, warmup) in [(true, true), (true, false), (false, false)] {
        let interval = interval(is_whole, warmup);
        totals.add(&interval);
        let text = exposition::text(&totals, "tcp://localhost:1");
        let plain = |line: &&str| !line.contains("_bucket{");
        said += &text.lines().filter(plain).map(|line| format!("{line}\n")).collect::<String>();
        let request: Value = serde_json::from_slice(&otlp::request(&[interval], &json!([]))).unwrap();
        for metric in request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().unwrap() {
            said += &if metric["name"] == RESPONSE.name { String::new() } else { format!("{metric}\n") };
        }
    }
    golden("told.txt", &said);
}
