//! oha: closed loop, or a rate over all connections. Writes JSON to standard output.
//!
//! At a rate it corrects coordinated omission, so it reports the response time. Requests that oha aborts at its end count
//! neither as failed nor as unanswered: those that still wait for a connection are not among them.

use super::external::{ExternalTester, LoadSpec, ParsedOutput, summary};
use crate::plan::tester;
use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) const OHA: ExternalTester =
    ExternalTester { capabilities: &tester::OHA, args, file: None, read, untold: &[], absent: &[] };

/// Error of requests in flight at its end.
const BROKEN_OFF: &str = "aborted due to deadline";

fn args(ask: &LoadSpec) -> Vec<String> {
    let valued = [
        ("-c", Some(ask.connections.to_string())),
        ask.end("-z"),
        ("--worker-threads", Some(ask.threads().to_string())),
        ("-t", ask.timeout.map(LoadSpec::millis)),
        ("-q", ask.rate.map(|rate| rate.to_string())),
    ];
    let flags = [
        ("--latency-correction", ask.rate.is_some()),
        ("--disable-keepalive", !ask.keepalive),
        ("--insecure", ask.uses_tls()),
    ];
    ask.line(&["--no-tui", "--output-format", "json"], valued, flags)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    summary: Summary,
    latency_percentiles: BTreeMap<String, Option<f64>>,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

/// Seconds and bytes; `null` without a reply.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    total: f64,
    average: Option<f64>,
    slowest: Option<f64>,
    total_data: u64,
}

fn read(output: &str, _: &str) -> Result<ParsedOutput, String> {
    let page: Page = serde_json::from_str(output.trim())
        .map_err(|e| format!("its output is not the JSON of a finished run ({e})"))?;
    let Summary { total, average, slowest, total_data } = page.summary;
    let mut told = ParsedOutput { measured_s: total, body_bytes: Some(total_data), ..ParsedOutput::default() };
    for (status, count) in page.status_code_distribution {
        let number = status.parse().map_err(|_| format!("its output has the status '{status}', which is no number"))?;
        told.replies(number, count);
    }
    for (why, count) in page.error_distribution {
        let has = |words: &[&str]| words.iter().any(|word| why.contains(word));
        let kind = match why.as_str() {
            BROKEN_OFF => continue,
            "timeout" => &mut told.errors.timeout,
            _ if has(&["refused", "unreachable", "assign requested address", "open files"]) => &mut told.errors.connect,
            _ if has(&["reset", "closed", "Broken pipe", "connection", "canceled"]) => &mut told.errors.reset,
            _ => &mut told.errors.protocol,
        };
        *kind += count;
    }
    let replies = told.completed + told.errors.status;
    if replies > 0 {
        let seconds = |name: &str| match name {
            "mean" => average,
            "max" => slowest,
            percentage => page.latency_percentiles.get(&format!("p{percentage}")).copied().flatten(),
        };
        told.times = summary(replies, |name| seconds(name).map(|seconds| seconds * 1e6));
    }
    Ok(told)
}
