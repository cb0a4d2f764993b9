//! wrk: closed loop over persistent connections. Its rate counts every reply, so failed ones are subtracted; its latency
//! includes them. Also reads the output of wrk2.

use super::external::{ExternalTester, LoadSpec, ParsedOutput, summary};
use super::output_parser::{after, bytes, lacks, named, needed, time_us};
use crate::plan::tester;
use brunt_results::{LatencySummary, result::Errors};

pub(super) const WRK: ExternalTester = ExternalTester {
    capabilities: &tester::WRK,
    args,
    file: None,
    read,
    untold: &[
        ("p95_us", "wrk prints p50, p75, p90 and p99 alone"),
        ("p999_us", "wrk prints no percentile beyond the 99th"),
    ],
    absent: &[
        ("responses.statuses", "wrk counts statuses above 399 alone"),
        ("responses.body_bytes", "wrk counts heads and bodies together"),
    ],
};

fn args(ask: &LoadSpec) -> Vec<String> {
    let (threads, connections) = (format!("-t{}", ask.threads()), format!("-c{}", ask.connections));
    let duration = format!("-d{}s", LoadSpec::seconds(ask.duration));
    let valued = [
        ("--timeout", ask.timeout.map(|timeout| format!("{}s", LoadSpec::seconds(timeout)))),
        ("-H", (!ask.keepalive).then(|| "Connection: close".to_owned())),
    ];
    ask.line(&[&threads, &connections, &duration, "--latency"], valued, [])
}

fn read(output: &str, _: &str) -> Result<ParsedOutput, String> {
    // The second last line; without it the output is incomplete.
    needed(output, "Requests/sec:")?;
    let summary = output.lines().find_map(|line| line.split_once(" requests in "));
    let (replies, rest) = summary.ok_or_else(|| lacks(" requests in "))?;
    let wrong = || format!("'{replies} requests in {rest}' cannot be read");
    let replies: u64 = replies.trim().parse().map_err(|_| wrong())?;
    let (time, read) = rest.split_once(", ").ok_or_else(wrong)?;
    let measured_s = time_us(time).ok_or_else(wrong)? / 1e6;
    let received = read.strip_suffix(" read").and_then(bytes).ok_or_else(wrong)?;
    let mut errors = Errors::default();
    if let Some(list) = after(output, "Socket errors:") {
        let count = |name| named(list, name).ok_or_else(|| format!("'Socket errors: {list}' cannot be read"));
        errors.connect = count("connect")?;
        errors.reset = count("read")? + count("write")?;
        errors.timeout = count("timeout")?;
    }
    if let Some(count) = after(output, "Non-2xx or 3xx responses:") {
        errors.status = count.parse().map_err(|_| format!("'Non-2xx or 3xx responses: {count}' cannot be read"))?;
    }
    // A timeout is a late reply; its time is not recorded.
    let recorded = replies.saturating_sub(errors.timeout);
    let completed = recorded.saturating_sub(errors.status);
    let times = if recorded > 0 { latency(output, recorded)? } else { LatencySummary::default() };
    let received = Some(received);
    Ok(ParsedOutput { measured_s, completed, times, errors, received, ..ParsedOutput::default() })
}

fn latency(output: &str, count: u64) -> Result<LatencySummary, String> {
    let row = needed(output, "Latency  ")?;
    let mut columns = row.split_whitespace().map(time_us);
    let (mean_us, max_us) = (columns.next().flatten(), columns.nth(1).flatten());
    let percentile = |name: &str| {
        // `99%` of wrk, `99.000%` of wrk2.
        let is_it = |word: &str| word.strip_suffix('%').and_then(|p| p.parse().ok()) == name.parse::<f64>().ok();
        let mut rows = output.lines().map(str::split_whitespace);
        rows.find_map(|mut words| words.next().filter(|word| is_it(word)).and_then(|_| time_us(words.next()?)))
    };
    Ok(summary(count, |name| match name {
        "mean" => mean_us,
        "max" => max_us,
        percentage => percentile(percentage),
    }))
}
