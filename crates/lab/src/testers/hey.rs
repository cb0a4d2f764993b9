//! hey: closed loop, or a rate for each worker. It prints times of the first million replies in units of 100 us.

use super::external::{ExternalTester, LoadSpec, ParsedOutput, summary};
use super::output_parser::{after, lacks, needed, number};
use crate::plan::tester;

pub(super) const HEY: ExternalTester = ExternalTester {
    capabilities: &tester::HEY,
    args,
    file: None,
    read,
    untold: &[("p999_us", "hey prints no percentile beyond the 99th")],
    absent: &[],
};

fn args(ask: &LoadSpec) -> Vec<String> {
    let valued = [
        ask.end("-z"),
        ("-c", Some(ask.connections.to_string())),
        ("-cpus", Some(ask.cores.len().max(1).to_string())),
        ("-q", ask.rate_each()),
        ("-t", ask.timeout.map(|timeout| LoadSpec::seconds(timeout).to_string())),
    ];
    ask.line(&[], valued, [("-disable-keepalive", !ask.keepalive)])
}

fn read(output: &str, _: &str) -> Result<ParsedOutput, String> {
    let seconds = |label: &str| after(output, label).and_then(number::<f64>);
    let measured_s = seconds("Total:").ok_or_else(|| lacks("Total:"))?;
    // The last list except errors; without it the output is incomplete.
    needed(output, "Status code distribution:")?;
    let mut told = ParsedOutput { measured_s, ..ParsedOutput::default() };
    let mut replies = 0;
    for (status, count) in list(output, "Status code distribution:") {
        replies += count;
        match status.strip_prefix('[').and_then(|s| s.strip_suffix(']')?.parse().ok()) {
            Some(status) => told.replies(status, count),
            None => return Err(format!("'{status}' in its list of statuses is none")),
        }
    }
    for (why, count) in list(output, "Error distribution:") {
        let kind = match why.as_str() {
            why if why.contains("Timeout") || why.contains("deadline") => &mut told.errors.timeout,
            why if why.contains("dial ") => &mut told.errors.connect,
            why if why.contains("EOF") || why.contains("reset") || why.contains("broken pipe") => {
                &mut told.errors.reset
            }
            _ => &mut told.errors.protocol,
        };
        *kind += count;
    }
    told.body_bytes = after(output, "Total data:").and_then(number);
    if replies > 0 {
        let time = |name: &str| match name {
            "mean" => seconds("Average:"),
            "max" => seconds("Slowest:"),
            percentage => seconds(&format!("{percentage}% in")),
        };
        told.times = summary(replies, |name| time(name).map(|seconds| seconds * 1e6));
    }
    Ok(told)
}

/// Parses a list: `[200]` and `5 responses`, or `[5]` and an error.
fn list(output: &str, head: &str) -> Vec<(String, u64)> {
    let lines = output.lines().skip_while(|line| line.trim() != head).skip(1);
    let lines = lines.map(str::trim).take_while(|line| line.starts_with('['));
    lines
        .filter_map(|line| {
            let (mark, rest) = line.split_once(']')?;
            match rest.trim().strip_suffix(" responses") {
                Some(count) => Some((format!("{mark}]"), count.parse().ok()?)),
                None => Some((rest.trim().to_owned(), mark[1..].parse().ok()?)),
            }
        })
        .collect()
}
