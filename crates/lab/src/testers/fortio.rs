//! fortio: fixed rate or closed loop, one goroutine for each connection. Writes JSON to standard output.
//!
//! Its percentiles are interpolated within histogram bins. The default bins of 1 ms are too coarse, so bins of 10 us are set.

use super::external::{ExternalTester, LoadSpec, ParsedOutput, summary};
use crate::plan::tester;
use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) const FORTIO: ExternalTester =
    ExternalTester { capabilities: &tester::FORTIO, args, file: None, read, untold: &[], absent: &[] };

fn args(ask: &LoadSpec) -> Vec<String> {
    let fixed = |value: &str| Some(value.to_owned());
    let valued = [
        ("-c", Some(ask.connections.to_string())),
        ask.end("-t"),
        // 0 is the closed loop.
        ("-qps", Some(ask.rate.map_or("0".to_owned(), |rate| rate.to_string()))),
        ("-r", fixed("0.00001")),
        ("-p", fixed("50,90,99,99.9")),
        ("-loglevel", fixed("Error")),
        ("-json", fixed("-")),
        ("-timeout", ask.timeout.map(LoadSpec::millis)),
    ];
    ask.line(&["load"], valued, [("-keepalive=false", !ask.keepalive), ("-k", ask.uses_tls())])
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    actual_duration: u64,
    duration_histogram: Histogram,
    #[serde(default)]
    ret_codes: BTreeMap<String, u64>,
    #[serde(default)]
    sizes: Option<Histogram>,
    #[serde(default)]
    header_sizes: Option<Histogram>,
    socket_count: Option<u64>,
}

/// Seconds, or bytes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Histogram {
    count: u64,
    max: f64,
    sum: f64,
    avg: f64,
    percentiles: Option<Vec<Percentile>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Percentile {
    percentile: f64,
    value: f64,
}

fn read(output: &str, _: &str) -> Result<ParsedOutput, String> {
    let page: Page = serde_json::from_str(output.trim())
        .map_err(|e| format!("its output is not the JSON of a finished run ({e})"))?;
    let mut told = ParsedOutput {
        measured_s: page.actual_duration as f64 / 1e9,
        opened: page.socket_count,
        ..ParsedOutput::default()
    };
    for (code, count) in page.ret_codes {
        match code.parse::<i32>() {
            // A broken connection or a malformed reply; fortio does not distinguish them.
            Ok(..100) => told.errors.reset += count,
            // fortio counts redirects as errors; brunt does not.
            Ok(status @ 100..) => told.replies(status as u32, count),
            Err(_) => return Err(format!("its output has the status '{code}', which is no number")),
        }
    }
    let heads = page.header_sizes.map_or(0.0, |sizes| sizes.sum);
    told.received = page.sizes.as_ref().map(|sizes| sizes.sum.round() as u64);
    told.body_bytes = page.sizes.map(|sizes| (sizes.sum - heads).round() as u64);
    let times = page.duration_histogram;
    if times.count > 0 {
        let percentile = |wanted: &str| {
            let mut all = times.percentiles.iter().flatten();
            all.find(|p| p.percentile.to_string() == wanted).map(|p| p.value)
        };
        let seconds = |name: &str| match name {
            "mean" => Some(times.avg),
            "max" => Some(times.max),
            wanted => percentile(wanted),
        };
        told.times = summary(times.count, |name| seconds(name).map(|seconds| seconds * 1e6));
    }
    Ok(told)
}
