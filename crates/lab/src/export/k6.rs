//! The summary of a k6 run. Figures of a metric appear both directly (`--summary-export`) and in `values`
//! (`handleSummary`). Times are milliseconds. Metrics that brunt does not measure, such as `http_req_waiting`, are
//! omitted.

use super::single_trial::SingleTrial;
use serde_json::{Map, Value, json};

pub(super) fn value(trial: &SingleTrial) -> Value {
    let (result, seconds) = (&trial.result, trial.result.load.measured_s);
    let (completed, failed) = (result.requests.completed, result.requests.failed);
    let mut metrics = Map::new();
    let mut add = |name: &str, kind: &str, contains: &str, values: Value| {
        let mut metric = values.clone();
        // The two formats name a rate's share differently.
        if let Some(share) = values.get("rate").filter(|_| kind == "rate") {
            metric["value"] = share.clone();
        }
        metric["type"] = json!(kind);
        metric["contains"] = json!(contains);
        metric["values"] = values;
        metrics.insert(name.to_owned(), metric);
    };
    let counter = |count: u64| json!({"count": count, "rate": per(count, seconds)});
    let connections = result.load.connections;
    let gauge = json!({"value": connections, "min": connections, "max": connections});
    add("iterations", "counter", "default", counter(completed + failed));
    add("iteration_duration", "trend", "time", trend(trial));
    if trial.is_http() {
        add("http_reqs", "counter", "default", counter(completed + failed));
        add("http_req_duration", "trend", "time", trend(trial));
        // k6 counts true values as passes: here, failed requests.
        let share = per(failed, (completed + failed) as f64);
        add("http_req_failed", "rate", "default", json!({"passes": failed, "fails": completed, "rate": share}));
    }
    add("data_sent", "counter", "data", counter(result.bytes.sent));
    add("data_received", "counter", "data", counter(result.bytes.received));
    add("vus", "gauge", "default", gauge.clone());
    add("vus_max", "gauge", "default", gauge);
    let mut summary = json!({
        // k6's id of the unnamed group.
        "root_group":
            {"name": "", "path": "", "id": "d41d8cd98f00b204e9800998ecf8427e", "groups": {}, "checks": {}},
        "state": {"testRunDurationMs": seconds * 1e3},
        "metrics": metrics,
    });
    // Not of k6, whose readers skip what they do not know.
    if let Some(note) = &trial.note {
        summary["note"] = json!(note);
    }
    summary
}

fn trend(trial: &SingleTrial) -> Value {
    let milliseconds = |nanos: f64| nanos / 1e6;
    let quantile = |share: f64| milliseconds(trial.times.value_at_quantile(share) as f64);
    json!({
        "avg": milliseconds(trial.times.mean()),
        "min": milliseconds(trial.times.min() as f64),
        "med": quantile(0.5),
        "max": milliseconds(trial.times.max() as f64),
        "p(90)": quantile(0.9),
        "p(95)": quantile(0.95),
        "p(99)": quantile(0.99),
        "p(99.9)": quantile(0.999),
    })
}

fn per(count: u64, of: f64) -> f64 {
    if of > 0.0 { count as f64 / of } else { 0.0 }
}
