//! The JSON of `fortio load -json`, which `fortio report` reads. Times are seconds.

use super::single_trial::SingleTrial;
use crate::format::rfc3339;
use brunt_results::{Rate, Span};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::time::Duration;

/// Percent and share: fortio's charts use these; 99.9 / 100 is not exactly 0.999.
const PERCENTILES: [(f64, f64); 7] =
    [(50.0, 0.5), (75.0, 0.75), (90.0, 0.9), (95.0, 0.95), (99.0, 0.99), (99.9, 0.999), (99.99, 0.9999)];
/// Fortio's code for requests without an HTTP status.
const NO_STATUS: &str = "-1";

pub(super) fn value(trial: &SingleTrial) -> Value {
    let (result, load) = (&trial.result, &trial.result.load);
    let mut value = json!({
        "RunType": if trial.is_http() { "HTTP" } else { "TCP" },
        "Labels": labels(trial),
        "StartTime": rfc3339(trial.window_start_unix_s()),
        "RequestedQPS": result.requests.offered_rate.map_or("max".to_owned(), |rate| Rate(rate).0.to_string()),
        "RequestedDuration": Span(Duration::from_nanos(trial.window_ns())).to_string(),
        "ActualQPS": result.requests.rate,
        "ActualDuration": trial.window_ns(),
        // Fortio has one thread per connection.
        "NumThreads": load.connections,
        "Version": format!("brunt {}", trial.env.brunt),
        "DurationHistogram": histogram(&trial.times),
        "SocketCount": result.connections.opened,
        "BytesSent": result.bytes.sent,
        "BytesReceived": result.bytes.received,
    });
    let target = if trial.is_http() { "URL" } else { "Destination" };
    value[target] = json!(load.url);
    value["RetCodes"] = codes(trial);
    value
}

/// Fortio's text for people.
fn labels(trial: &SingleTrial) -> String {
    let (result, note) = (&trial.result, &trial.note);
    let note = note.as_ref().map_or(String::new(), |note| format!("; {note}"));
    format!("{} {}{note}", result.tester, result.verdict.kind.word())
}

/// Replies by status. Fortio reports TCP replies as `OK`.
fn codes(trial: &SingleTrial) -> Value {
    let mut codes = serde_json::Map::new();
    match &trial.result.responses {
        Some(responses) => codes.extend(responses.statuses.iter().map(|(code, count)| (code.clone(), json!(count)))),
        None => {
            codes.insert("OK".to_owned(), json!(trial.result.requests.completed));
        }
    }
    if trial.without_status() > 0 {
        codes.insert(NO_STATUS.to_owned(), json!(trial.without_status()));
    }
    Value::Object(codes)
}

fn histogram(times: &Histogram<u64>) -> Value {
    let (count, seconds) = (times.len(), |nanos: u64| nanos as f64 / 1e9);
    let mut seen = 0;
    let data: Vec<Value> = times
        .iter_recorded()
        .map(|step| {
            seen += step.count_since_last_iteration();
            let value = step.value_iterated_to();
            json!({
                "Start": seconds(times.lowest_equivalent(value).max(times.min())),
                "End": seconds(times.highest_equivalent(value).min(times.max())),
                "Percent": 100.0 * seen as f64 / count as f64,
                "Count": step.count_since_last_iteration(),
            })
        })
        .collect();
    let percentile =
        |(percent, share)| json!({"Percentile": percent, "Value": seconds(times.value_at_quantile(share))});
    json!({
        "Count": count,
        "Min": seconds(times.min()),
        "Max": seconds(times.max()),
        "Sum": times.mean() * count as f64 / 1e9,
        "Avg": times.mean() / 1e9,
        "StdDev": times.stdev() / 1e9,
        "Data": data,
        "Percentiles": PERCENTILES.map(percentile),
    })
}
