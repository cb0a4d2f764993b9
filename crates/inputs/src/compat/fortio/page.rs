//! Output of fortio 1.x. Times are service times, as in fortio; percentiles come from the recorded histogram and are
//! not interpolated within the displayed bins.

use super::PageOptions;
use crate::compat::go_format::{duration, general, rfc3339, shortest};
use crate::compat::spread::Spread;
use crate::compat::{Measurement, Page};
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt::Write, path::PathBuf};

/// Upper bounds of fortio's bins, in units of `-r`.
const ENDS: &[u32] = &[
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100, 120, 140,
    160, 180, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900, 1000, 2000, 3000, 4000, 5000, 7500, 10_000,
    20_000, 30_000, 40_000, 50_000, 75_000, 100_000,
];

/// Bin bounds in seconds, cumulative percentage, count.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Bin {
    start: f64,
    end: f64,
    percent: f64,
    count: u64,
}

pub(super) fn head(options: &PageOptions) -> String {
    let PageOptions { url, connections, .. } = options;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (rate, requested) = (rate_text(options), shortest(options.qps));
    let end = match (options.requests, &options.duration) {
        (Some(requests), _) => format!("for {requests} calls"),
        (None, Some(duration)) => format!("for {duration}"),
        (None, None) => "until interrupted".to_owned(),
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut out = format!(
        "Fortio (brunt {version}) running at {requested} queries per second, {cores}->{cores} procs, {end}: {url}\n"
    );
    let calls = match (options.requests, &options.duration) {
        (Some(all), _) => {
            let each = all / (*connections).max(1);
            let total = each * connections;
            let rest = all - total;
            match options.qps > 0.0 {
                true => format!(" : exactly {all}, {each} calls each (total {total} + {rest})"),
                false => format!(" for exactly {all} calls ({each} per thread + {rest})"),
            }
        }
        (None, Some(duration)) if options.qps > 0.0 => {
            let each = (options.qps * options.seconds / *connections as f64).round() as u64;
            format!(" for {duration} : {each} calls each (total {})", each * connections)
        }
        (None, Some(duration)) => format!(" for {duration}"),
        (None, None) => " until interrupted".to_owned(),
    };
    let _ = writeln!(out, "Starting at {rate} qps with {connections} thread(s) [gomax {cores}]{calls}");
    out
}

pub(super) fn page(options: &PageOptions, measured: &Measurement) -> Page {
    let bins = bins(&measured.service, options.resolution);
    let page = || format!("{:#}\n", document(options, measured, &bins));
    let files: Vec<(PathBuf, String)> = options.json.iter().map(|path| (path.clone(), page())).collect();
    let mut text = text(options, measured, &bins);
    for (path, page) in &files {
        let place = if path.as_os_str() == "-" { "stdout".into() } else { path.display().to_string() };
        let _ = writeln!(text, "Successfully wrote {} bytes of Json data to {place}", page.len());
    }
    Page { text, files }
}

fn text(options: &PageOptions, measured: &Measurement, bins: &[Bin]) -> String {
    let result = measured.result;
    let calls = result.requests.completed + result.errors.total();
    let elapsed = result.load.measured_s;
    let qps = if elapsed > 0.0 { calls as f64 / elapsed } else { 0.0 };
    let mut out = format!("Ended after {} : {calls} calls. qps={}\n", duration(elapsed), general(qps, 5));
    histogram(&mut out, options, &measured.service, bins);
    if result.errors.total() == 0 {
        out.push_str("Error cases : no data\n");
    }
    let (opened, connections) = (result.connections.opened, options.connections);
    let _ = writeln!(out, "Sockets used: {opened} (for perfect keepalive, would be {connections})");
    out.push_str("Uniform: true, Jitter: false, Catchup allowed: true\n");
    for (code, count) in codes(measured) {
        let _ = writeln!(out, "Code {code:>3} : {count} ({:.1} %)", count as f64 * 100.0 / calls.max(1) as f64);
    }
    let mean = Spread::of(&measured.service).mean / 1e6;
    let _ = writeln!(out, "All done {calls} calls (plus 0 warmup) {mean:.3} ms avg, {qps:.1} qps");
    out
}

fn histogram(out: &mut String, options: &PageOptions, times: &Histogram<u64>, bins: &[Bin]) {
    let what = "Aggregated Function Time";
    if times.is_empty() {
        let _ = writeln!(out, "{what} : no data");
        return;
    }
    let spread = Spread::of(times);
    let (avg, stdev, count) = (spread.mean / 1e9, spread.stdev / 1e9, times.len());
    let (min, max) = (shortest(times.min() as f64 / 1e9), shortest(times.max() as f64 / 1e9));
    let (avg_text, stdev, sum) = (general(avg, 8), general(stdev, 4), general(avg * count as f64, 9));
    let _ = writeln!(out, "{what} : count {count} avg {avg_text} +/- {stdev} min {min} max {max} sum {sum}");
    out.push_str("# range, mid point, percentile, count\n");
    for (index, bin) in bins.iter().enumerate() {
        let sign = if index == 0 { ">=" } else { ">" };
        let (start, end, middle) =
            (general(bin.start, 6), general(bin.end, 6), general((bin.start + bin.end) / 2.0, 6));
        let _ = writeln!(out, "{sign} {start} <= {end} , {middle} , {:.2}, {}", bin.percent, bin.count);
    }
    for percent in &options.percentiles {
        let value = times.value_at_percentile(*percent) as f64 / 1e9;
        let _ = writeln!(out, "# target {}% {}", shortest(*percent), general(value, 6));
    }
}

fn bins(times: &Histogram<u64>, resolution: f64) -> Vec<Bin> {
    let (all, min, max) = (times.len() as f64, times.min() as f64 / 1e9, times.max() as f64 / 1e9);
    let mut counts = vec![0u64; ENDS.len() + 1];
    for at in times.iter_recorded() {
        let value = at.value_iterated_to().min(times.max()) as f64 / 1e9 / resolution;
        // A histogram bucket may end slightly beyond the bin's bound.
        let place = ENDS.iter().position(|end| value <= f64::from(*end) + 1e-4).unwrap_or(ENDS.len());
        counts[place] += at.count_at_value();
    }
    let (mut bins, mut total) = (Vec::<Bin>::new(), 0);
    for (place, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        total += count;
        let edge = |place: usize| ENDS.get(place).map_or(max, |end| f64::from(*end) * resolution);
        let start = if bins.is_empty() { min } else { edge(place - 1) };
        bins.push(Bin { start, end: edge(place), percent: total as f64 * 100.0 / all, count });
    }
    if let Some(last) = bins.last_mut() {
        last.end = max;
    }
    bins
}

/// Number of replies by status; -1 stands for missing replies.
fn codes(measured: &Measurement) -> Vec<(i32, u64)> {
    let result = measured.result;
    let statuses = result.responses.iter().flat_map(|responses| &responses.statuses);
    let mut codes: Vec<(i32, u64)> = statuses.filter_map(|(code, count)| Some((code.parse().ok()?, *count))).collect();
    let lost = result.errors.total() - result.errors.status;
    if lost > 0 {
        codes.insert(0, (-1, lost));
    }
    codes
}

/// fortio's JSON, with the keys that have data; times in seconds.
fn document(options: &PageOptions, measured: &Measurement, bins: &[Bin]) -> Value {
    let result = measured.result;
    let calls = result.requests.completed + result.errors.total();
    let elapsed = result.load.measured_s;
    let counted = |times: &Histogram<u64>| {
        let spread = Spread::of(times);
        let percentile = |p: &f64| json!({"Percentile": p, "Value": times.value_at_percentile(*p) as f64 / 1e9});
        json!({
            "Count": times.len(), "Min": times.min() as f64 / 1e9, "Max": times.max() as f64 / 1e9,
            "Sum": spread.mean / 1e9 * times.len() as f64, "Avg": spread.mean / 1e9, "StdDev": spread.stdev / 1e9,
            "Data": bins,
            "Percentiles": options.percentiles.iter().map(percentile).collect::<Vec<_>>(),
        })
    };
    let codes: serde_json::Map<String, Value> =
        codes(measured).into_iter().map(|(code, count)| (code.to_string(), json!(count))).collect();
    // Only sums: sizes of single replies are not recorded.
    let sizes = |sum: u64| {
        let average = if calls > 0 { sum as f64 / calls as f64 } else { 0.0 };
        json!({"Count": calls, "Sum": sum, "Avg": average, "Min": average, "Max": average, "StdDev": 0.0, "Data": null})
    };
    let received = result.bytes.received;
    let bodies = result.responses.as_ref().and_then(|responses| responses.body_bytes);
    json!({
        "RunType": "HTTP",
        "ID": options.id,
        "Labels": options.labels,
        "StartTime": rfc3339(now().saturating_sub(elapsed as u64)),
        "RequestedQPS": rate_text(options),
        "RequestedDuration": match (options.requests, &options.duration) {
            (Some(requests), _) => format!("exactly {requests} calls"),
            (None, Some(duration)) => duration.clone(),
            (None, None) => "until stop".to_owned(),
        },
        "ActualQPS": if elapsed > 0.0 { calls as f64 / elapsed } else { 0.0 },
        "ActualDuration": (elapsed * 1e9).round() as u64,
        "NumThreads": options.connections,
        "Version": format!("brunt {}", env!("CARGO_PKG_VERSION")),
        "DurationHistogram": counted(&measured.service),
        "Exactly": options.requests.unwrap_or(0),
        "Jitter": false,
        "Uniform": true,
        "NoCatchUp": false,
        "RetCodes": codes,
        "URL": options.url,
        "Sizes": sizes(received),
        "HeaderSizes": bodies.map(|bodies| sizes(received.saturating_sub(bodies))),
        "SocketCount": result.connections.opened,
    })
}

fn rate_text(options: &PageOptions) -> String {
    if options.qps > 0.0 { shortest(options.qps) } else { "max".to_owned() }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// fortio's default labels: the URL and the host name.
pub(super) fn labels(url: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim().split('.').next().unwrap_or_default();
    format!("{} , {host}", url.strip_prefix("http://").unwrap_or(url))
}

/// fortio's run ID: the time and the letters of the labels.
pub(super) fn id(unix_s: u64, labels: &str) -> String {
    let mut id = rfc3339(unix_s).replace('T', "-").replace([':', 'Z'], "");
    let words = labels.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.for_each(|word| id += &format!("_{word}"));
    // Same maximum length as fortio's.
    id.truncate(96);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_named_as_fortio_names_it() {
        assert_eq!(id(1_769_846_710, "h:80/a , me"), "2026-01-31-080510_h_80_a_me");
        assert_eq!(id(0, &"x".repeat(200)).len(), 96);
        assert!(labels("http://h:80/").starts_with("h:80/ , "));
    }
}
