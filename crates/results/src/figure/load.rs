//! Rates and counts of requests.

use super::{BASE, Better, Compared, Figure, Indexed, Unit, family, figures, gauge, indexed};
use crate::result::RunResult;

figures! { FIGURES:
    RATE {
        key: "rate",
        label: "rate",
        title: "Throughput",
        unit: Unit::Rate,
        better: Better::Higher,
        help: "Requests completed per second",
        path: "requests.rate",
        of: |result| Some(result.requests.rate).filter(|rate| rate.is_finite()),
        part: Ok(|part| Some(part.rate)),
        bound: Some(""),
        indexed: indexed("rate"),
        compared: Compared::Always,
        is_exported: true,
        measure: "throughput",
        prometheus: family("brunt_requests_per_second", 1.0),
        gauge: gauge("brunt_requests_per_second", "{request}/s", "Requests completed per second", 1.0),
    }
    OFFERED_RATE {
        key: "offered_rate",
        label: "offered rate",
        unit: Unit::Rate,
        help: "Requests per second that the schedule asked for",
        path: "requests.offered_rate",
        of: |result| result.requests.offered_rate,
        indexed: indexed("offered_rate"),
        prometheus: family("brunt_offered_requests_per_second", 1.0),
        gauge: gauge(
            "brunt_offered_requests_per_second",
            "{request}/s",
            "Requests per second that the schedule asked for",
            1.0,
        ),
    }
    COMPLETED {
        key: "completed",
        label: "completed requests",
        unit: Unit::Requests,
        help: "Requests answered correctly inside the window",
        path: "requests.completed",
        of: |result| Some(result.requests.completed as f64),
        indexed: indexed("completed"),
    }
    FAILED {
        key: "failed",
        label: "failed requests",
        unit: Unit::Requests,
        better: Better::Lower,
        help: "Requests and connections that failed; in an open loop, abandoned requests too",
        path: "requests.failed",
        of: |result| Some(result.failures() as f64),
        part: Ok(|part| Some(part.failed as f64)),
        bound: Some(""),
        counts_failures: true,
        indexed: Some(Indexed { column: "failed", of: Some(|result| Some(result.requests.failed as f64)) }),
    }
    ERRORS {
        key: "errors",
        label: "errors",
        unit: Unit::Percent,
        better: Better::Lower,
        help: "Share of the requests that failed",
        path: "requests.failed",
        of: |result| share(result.failures(), result.attempts()),
        part: Ok(|part| share(part.failed, part.completed + part.failed)),
        bound: Some("share of the requests, as in errors>0.1%"),
        counts_failures: true,
        indexed: Some(Indexed { column: "errors_percent", of: Some(failed_percent) }),
    }
}

/// Of whole numbers of requests, in percent.
fn share(failed: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| 100.0 * failed as f64 / all as f64)
}

fn failed_percent(result: &RunResult) -> Option<f64> {
    share(result.requests.failed, result.requests.completed + result.requests.failed)
}
