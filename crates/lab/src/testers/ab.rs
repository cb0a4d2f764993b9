//! ab: closed loop, HTTP/1.0, a connection for each request without `-k`. It prints percentiles in whole milliseconds, so
//! the table that it writes with `-e` is read, in microseconds.

use super::external::{ExternalTester, LoadSpec, ParsedOutput};
use super::output_parser::{after, lacks, named, number};
use crate::plan::tester;
use brunt_results::{LatencySummary, result::Errors};

pub(super) const AB: ExternalTester = ExternalTester {
    capabilities: &tester::AB,
    args,
    file: Some(TABLE),
    read,
    untold: &[
        ("mean_us", "ab prints means in whole milliseconds"),
        ("p999_us", "ab knows no percentile beyond the 99th"),
    ],
    absent: &[("responses.statuses", "ab counts statuses that are not 2xx alone")],
};

const TABLE: &str = "ab.csv";

/// Maximum requests of one run; many systems refuse the memory for more.
const MOST: u64 = 50_000_000;

fn args(ask: &LoadSpec) -> Vec<String> {
    let seconds = LoadSpec::seconds(ask.duration);
    // -t alone stops at 50,000 requests; ab allocates 32 bytes for each request of -n, untouched until used.
    let most = ask.requests.unwrap_or(seconds.saturating_mul(300_000)).min(MOST).max(ask.connections);
    // -l: bodies may differ in length; -r: failed connections are counted and do not end the run.
    let valued = [
        ("-c", Some(ask.connections.to_string())),
        ("-t", Some(seconds.to_string())),
        ("-n", Some(most.to_string())),
        ("-e", Some(format!("{}/{TABLE}", ask.dir))),
        ("-s", ask.timeout.map(|timeout| LoadSpec::seconds(timeout).to_string())),
    ];
    ask.line(&["-q", "-l", "-r"], valued, [("-k", ask.keepalive)])
}

fn read(output: &str, table: &str) -> Result<ParsedOutput, String> {
    let figure = |label: &str| after(output, label).and_then(number::<u64>);
    let needed = |label: &str| figure(label).ok_or_else(|| lacks(label));
    let time = "Time taken for tests:";
    let measured_s = after(output, time).and_then(number).ok_or_else(|| lacks(time))?;
    let done = needed("Complete requests:")?;
    needed("Failed requests:")?;
    let body_bytes = Some(needed("HTML transferred:")?);
    let kinds =
        after(output, "(Connect:").map_or(String::new(), |list| format!("Connect:{}", list.trim_end_matches(')')));
    let kind = |name: &str| named(&kinds, name).unwrap_or(0);
    // A broken connection counts as a failed receive, and often as an exception too.
    let lost = kind("Receive:") + figure("Write errors:").unwrap_or(0);
    let errors = Errors {
        connect: kind("Connect:"),
        reset: lost,
        protocol: kind("Length:") + kind("Exceptions:").saturating_sub(lost),
        status: figure("Non-2xx responses:").unwrap_or(0),
        ..Errors::default()
    };
    Ok(ParsedOutput {
        measured_s,
        completed: done.saturating_sub(errors.total()),
        times: if done > 0 { latency(table, done)? } else { LatencySummary::default() },
        errors,
        received: figure("Total transferred:"),
        body_bytes,
        ..ParsedOutput::default()
    })
}

/// Parses the table: a header, then percentage and milliseconds in each line.
fn latency(table: &str, count: u64) -> Result<LatencySummary, String> {
    let row = |percent: &str| {
        let cell = table.lines().find_map(|line| line.split_once(',').filter(|(name, _)| *name == percent));
        let ms = cell.and_then(|(_, ms)| ms.trim().parse::<f64>().ok());
        ms.map(|ms| ms * 1e3).ok_or_else(|| format!("its table {TABLE} has no line for {percent} %"))
    };
    Ok(LatencySummary {
        count,
        p50_us: Some(row("50")?),
        p90_us: Some(row("90")?),
        p99_us: Some(row("99")?),
        max_us: Some(row("100")?),
        ..LatencySummary::default()
    })
}
