//! Requests to an OpenTelemetry collector: an `ExportMetricsServiceRequest` in the JSON encoding of OTLP 1.0.
//!
//! Names in lowerCamelCase, enumerations as numbers, 64-bit integers as strings. Counts are those of the interval alone (delta
//! temporality). The histogram has explicit bounds: cells of an HDR histogram lie across those of an exponential one.

use super::figures::{COUNTERS, Figure, Gauge, Label, RESPONSE, gauges};
use super::interval::Interval;
use brunt_results::buckets;
use serde_json::{Value, json};

/// `AGGREGATION_TEMPORALITY_DELTA`
const DELTA: u8 = 1;

/// What the metrics are of, as attributes.
pub fn resource(url: &str) -> Value {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let instance = format!("{host}:{}", std::process::id());
    attributes([
        ("service.name", "brunt"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", &instance),
        ("url", url),
    ])
}

/// The request for these intervals.
pub fn request(intervals: &[Interval], resource: &Value) -> Vec<u8> {
    let scope = json!({ "name": "brunt", "version": env!("CARGO_PKG_VERSION") });
    let of = |interval: &Interval| {
        json!({
            "resource": { "attributes": resource },
            "scopeMetrics": [{ "scope": scope, "metrics": metrics(interval) }],
        })
    };
    let all: Vec<Value> = intervals.iter().map(of).collect();
    json!({ "resourceMetrics": all }).to_string().into_bytes()
}

/// What a reply says of metrics that the collector has not taken.
pub fn rejected(reply: &[u8]) -> Option<String> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let partial = reply.get("partialSuccess")?;
    let count = partial.get("rejectedDataPoints")?;
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok()).filter(|count| *count > 0)?;
    let why = partial.get("errorMessage").and_then(Value::as_str).unwrap_or("no reason given");
    Some(format!("the collector rejected {count} data points: {}", why.escape_debug()))
}

fn metrics(interval: &Interval) -> Vec<Value> {
    let phase = ("phase", interval.phase());
    let with = |label: Label| attributes([phase].into_iter().chain(label));
    let span = || span(interval);
    let response = &interval.response;
    let bounds: Vec<f64> = buckets::bounds_ns().map(|bound| bound as f64 / 1e9).collect();
    let mut point = json!({
        "attributes": with(None),
        "count": response.count().to_string(),
        "sum": response.sum_s,
        "bucketCounts": response.counts.map(|count| count.to_string()).to_vec(),
        "explicitBounds": bounds,
    });
    if let Some((min, max)) = response.range_s {
        (point["min"], point["max"]) = (min.into(), max.into());
    }
    let histogram = json!({ "aggregationTemporality": DELTA, "dataPoints": [joined(point, span())] });
    let counters = COUNTERS.iter().filter_map(|counter| {
        let point = |(label, count): (Label, u64)| {
            joined(json!({ "attributes": with(label), "asInt": count.to_string() }), span())
        };
        let points: Vec<Value> = (counter.values)(&interval.second).into_iter().map(point).collect();
        let sum = json!({ "aggregationTemporality": DELTA, "isMonotonic": true, "dataPoints": points });
        (!points.is_empty()).then(|| metric(counter, "sum", sum))
    });
    let gauges = gauges(interval).into_iter().filter_map(|gauge: Gauge| {
        let point = |(label, value): &(Label, f64)| {
            joined(json!({ "attributes": attributes(*label), "asDouble": value }), span())
        };
        let points: Vec<Value> = gauge.values.iter().map(point).collect();
        (!points.is_empty()).then(|| metric(&gauge, "gauge", json!({ "dataPoints": points })))
    });
    [metric(&RESPONSE, "histogram", histogram)].into_iter().chain(counters).chain(gauges).collect()
}

fn metric<V>(figure: &Figure<V>, kind: &str, data: Value) -> Value {
    let Figure { name, unit, help, .. } = figure;
    let mut metric = json!({ "name": name, "unit": unit, "description": help });
    metric[kind] = data;
    metric
}

fn span(interval: &Interval) -> Value {
    let (start, end) = (interval.start_ns.to_string(), interval.end_ns.to_string());
    json!({ "startTimeUnixNano": start, "timeUnixNano": end })
}

/// The keys of both objects.
fn joined(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

fn attributes<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let attribute = |(key, value): (&str, &str)| json!({ "key": key, "value": { "stringValue": value } });
    pairs.into_iter().map(attribute).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_are_told_and_successes_are_not() {
        for reply in
            ["", "{}", r#"{"partialSuccess":{}}"#, r#"{"partialSuccess":{"rejectedDataPoints":"0"}}"#, "<html>"]
        {
            assert_eq!(rejected(reply.as_bytes()), None, "{reply}");
        }
        for count in ["\"3\"", "3"] {
            let reply = format!(r#"{{"partialSuccess":{{"rejectedDataPoints":{count},"errorMessage":"too old"}}}}"#);
            assert_eq!(rejected(reply.as_bytes()).unwrap(), "the collector rejected 3 data points: too old");
        }
    }
}
