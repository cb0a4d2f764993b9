//! h2load in HTTP/1.1 mode: closed loop, or a rate for each connection in steps of 10 ms. It prints mean and extremes of at
//! most a million request times, and no percentile before version 1.60.

use super::external::{ExternalTester, LoadSpec, ParsedOutput, summary};
use super::output_parser::{after, bytes, lacks, needed, number, time_us};
use crate::plan::tester;
use brunt_results::LatencySummary;

pub(super) const H2LOAD: ExternalTester = ExternalTester {
    capabilities: &tester::H2LOAD,
    args,
    file: None,
    read,
    untold: &[("p50_us", "h2load prints mean and extremes alone")],
    absent: &[],
};

fn args(ask: &LoadSpec) -> Vec<String> {
    let valued = [
        ("-c", Some(ask.connections.to_string())),
        ("-t", Some(ask.threads().to_string())),
        ask.end("-D"),
        ("--rps", ask.rate_each()),
        ("-N", ask.timeout.map(LoadSpec::millis)),
    ];
    ask.line(&["--h1"], valued, [])
}

fn read(output: &str, _: &str) -> Result<ParsedOutput, String> {
    let finished = needed(output, "finished in")?;
    let wrong = |line: &str| format!("'{line}' cannot be read");
    let measured_s = finished.split(',').next().and_then(time_us).ok_or_else(|| wrong(finished))? / 1e6;
    let requests = needed(output, "requests:")?;
    let count = |list: &str, name: &str| {
        let part = list.split(',').find_map(|part| part.trim().strip_suffix(name));
        part.and_then(|count| count.trim().parse::<u64>().ok()).ok_or_else(|| wrong(list))
    };
    let errored = count(requests, " errored")?;
    let timeout = count(requests, " timeout")?;
    let classes = needed(output, "status codes:")?;
    let mut told = ParsedOutput { measured_s, ..ParsedOutput::default() };
    for class in ["2xx", "3xx", "4xx", "5xx"] {
        let replies = count(classes, &format!(" {class}"))?;
        *(if class < "4" { &mut told.completed } else { &mut told.errors.status }) += replies;
        if replies > 0 {
            told.statuses.insert(class.to_owned(), replies);
        }
    }
    told.errors.timeout = timeout;
    // Timeouts are counted among the errors.
    told.errors.reset = errored.saturating_sub(timeout);
    let traffic = needed(output, "traffic:")?;
    // The last line.
    needed(output, "req/s  ")?;
    let exact = |name: &str| {
        let part = traffic.split(", ").find(|part| part.contains(name))?;
        part.split_once('(').and_then(|(_, count)| number(count)).or_else(|| bytes(part.split(' ').next()?))
    };
    told.received = exact(") total");
    told.body_bytes = exact(") data");
    let replies = told.completed + told.errors.status;
    if replies > 0 {
        told.times = request_times(output, replies)?;
    }
    Ok(told)
}

/// Parses the table of times: a header, then a row for each figure.
fn request_times(output: &str, count: u64) -> Result<LatencySummary, String> {
    let head = output.lines().find(|line| line.split_whitespace().take(2).eq(["min", "max"]));
    let head = head.ok_or_else(|| lacks("min max"))?;
    let row = after(output, "time for request:").or_else(|| after(output, "request     :"));
    let row: Vec<&str> = row.ok_or_else(|| lacks("time for request:"))?.split_whitespace().collect();
    let column = |name: &str| {
        let place = head.split_whitespace().position(|word| word == name)?;
        row.get(place).and_then(|text| time_us(text))
    };
    Ok(summary(count, |name| match name {
        "mean" | "max" => column(name),
        "50" => column("median"),
        "99" => column("p99"),
        _ => None,
    }))
}
