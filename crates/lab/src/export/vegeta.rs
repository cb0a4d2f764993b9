//! The JSON of `vegeta report -type=json`. Times are nanoseconds.
//!
//! The stream of single requests that `vegeta plot` reads is not available: brunt records distributions.

use super::single_trial::SingleTrial;
use crate::format::rfc3339;
use serde_json::{Value, json};

pub(super) fn value(trial: &SingleTrial) -> Value {
    let (result, seconds) = (&trial.result, trial.result.load.measured_s);
    let count = result.requests.completed + result.requests.failed + result.requests.unanswered;
    let per = |amount: f64, of: f64| (of > 0.0).then(|| amount / of);
    let quantile = |share: f64| trial.times.value_at_quantile(share);
    let bytes = |total: u64| json!({"total": total, "mean": per(total as f64, count as f64)});
    let mut codes = serde_json::Map::new();
    let statuses = result.responses.iter().flat_map(|responses| &responses.statuses);
    codes.extend(statuses.map(|(code, count)| (code.clone(), json!(count))));
    if trial.without_status() > 0 {
        // Vegeta's code for requests without an HTTP status.
        codes.insert("0".to_owned(), json!(trial.without_status()));
    }
    let kinds = result.errors.by_kind().into_iter().filter(|(_, count)| *count > 0);
    let start = trial.window_start_unix_s();
    json!({
        "latencies": {
            "total": (trial.times.mean() * trial.times.len() as f64).round() as u64,
            "mean": trial.times.mean().round() as u64,
            "50th": quantile(0.5),
            "90th": quantile(0.9),
            "95th": quantile(0.95),
            "99th": quantile(0.99),
            "max": trial.times.max(),
            "min": trial.times.min(),
        },
        "bytes_in": bytes(result.bytes.received),
        "bytes_out": bytes(result.bytes.sent),
        "earliest": rfc3339(start),
        "latest": rfc3339(start.saturating_add(seconds.round() as u64)),
        // Not recorded.
        "end": null,
        "duration": trial.window_ns(),
        "wait": null,
        "requests": count,
        "rate": per(count as f64, seconds),
        "throughput": result.requests.rate,
        "success": per(result.requests.completed as f64, count as f64),
        "status_codes": codes,
        "errors": kinds.map(|(kind, _)| kind.to_owned()).chain(trial.note.clone()).collect::<Vec<_>>(),
    })
}
