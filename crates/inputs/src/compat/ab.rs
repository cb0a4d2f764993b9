//! `brunt as ab`: flags and output of ab 2.3. HTTP/1.0 with a connection per request unless `-k`, as in ab.
//!
//! Times are response times; in ab's closed loop they begin when the request is sent or its connection attempt
//! starts. Time to first byte is not measured; its row is omitted.

use super::argv::{Flag, Given, Syntax, flag, same};
use super::{ArgError, Invocation, Measurement, Page, spread::Spread};
use crate::address::{self, Protocol, Url};
use brunt_results::RunResult;
use hdrhistogram::Histogram;
use std::fmt::{Display, Write};

const FLAGS: &[Flag] = &[
    flag("-n", "N", "requests [1]"),
    flag("-c", "N", "connections [1]"),
    flag("-t", "SECONDS", "end after so long; without a later -n, after 50000 requests"),
    flag("-s", "SECONDS", "timeout of a request [30]"),
    flag("-k", "", "keep connections"),
    same("-m", "METHOD", "[GET]", &["-X", "{}"]),
    same("-i", "", "HEAD", &["-X", "HEAD"]),
    same("-p", "FILE", "POST this file", &["-X", "POST", "--body", "@{}"]),
    same("-u", "FILE", "PUT this file", &["-X", "PUT", "--body", "@{}"]),
    flag("-T", "TYPE", "its Content-Type [text/plain]"),
    same("-H", "LINE", "header of each request", &["-H", "{}"]),
    same("-B", "ADDRESS", "where connections come from", &["--source", "{}"]),
    same("-C", "NAME=VALUE", "cookie", &["-H", "Cookie: {}"]),
    same("-A", "USER:PASSWORD", "basic authentication", &["-H", "{basic}"]),
    flag("-e", "FILE", "write the percentiles as CSV"),
    flag("-d", "", "print no percentiles"),
    flag("-l", "", "bodies may differ in length: they always may, and their length is not printed"),
    flag("-r", "", "go on after an error; a failed connection never ends a load"),
    flag("-S", "", "print no medians and deviations"),
    flag("-q", "", "no progress; there is none"),
    flag("-v", "LEVEL", "no more is printed at any level"),
    flag("-I", "", "no name for TLS; there is none"),
];

/// The command line as far as the page shows it.
struct PageOptions {
    given: Given,
    url: Url,
    requests: u64,
    connections: u64,
    has_body: bool,
}

pub(super) fn parse(words: &[String]) -> Result<Invocation, ArgError> {
    let given = Given::read("ab", Syntax::Getopt, FLAGS, words)?;
    let url = given.url()?;
    let (count, seconds) = (given.count("-n")?, given.count("-t")?);
    // -t sets the number of requests too; a later -n overrides it.
    let last = given.args.iter().rfind(|(name, _)| matches!(*name, "-n" | "-t"));
    let requests = if last.is_some_and(|(name, _)| *name == "-t") { 50_000 } else { count.unwrap_or(1) };
    let connections = given.count("-c")?.unwrap_or(1);
    if connections > requests {
        return Err(ArgError::Usage(
            "ab: Cannot use concurrency level greater than total number of requests".to_owned(),
        ));
    }
    let mut load = vec![url.clone()];
    load.extend(given.translated());
    super::add_default_headers(&mut load, &[("User-Agent", "ApacheBench/2.3"), ("Accept", "*/*")]);
    let has_body = given.last("-p").or(given.last("-u")).is_some();
    if has_body {
        load.extend(["-H".to_owned(), format!("Content-Type: {}", given.last("-T").unwrap_or("text/plain"))]);
    }
    let timeout = given.count("-s")?.unwrap_or(30);
    let mut line = format!("-n {requests} -c {connections} --timeout {timeout}s --warmup 0s");
    if let Some(seconds) = seconds {
        line += &format!(" -d {seconds}s");
    }
    if !given.is_on("-k") {
        line += " --no-keepalive";
    }
    line += " --http1.0 --quiet --allow-untrusted";
    load.extend(line.split(' ').map(str::to_owned));
    super::accept_any_certificate(&mut load, &url);
    let url = address::parse(&url).map_err(|error| ArgError::Usage(error.to_string()))?;
    let options = PageOptions { given, url, requests, connections, has_body };
    let head = head(&options);
    Ok(Invocation { load, head, on_stderr: false, page: Box::new(move |measured| page(&options, measured)) })
}

fn head(options: &PageOptions) -> String {
    let version = env!("CARGO_PKG_VERSION");
    // ab prints progress only beyond 150 requests.
    let is_quiet = options.given.is_on("-q") || options.requests <= 150;
    let done = if is_quiet { ".....done" } else { "" };
    let host = &options.url.host;
    format!("This is ApacheBench, Version 2.3 <brunt {version}>\n\nBenchmarking {host} (be patient){done}\n")
}

fn page(options: &PageOptions, measured: &Measurement) -> Page {
    // ab counts replies with error statuses as complete.
    let done = measured.result.requests.completed + measured.result.errors.status;
    let mut out = String::from("\n\n");
    counts(&mut out, options, measured.result, done);
    times(&mut out, options, measured);
    let table = options.given.last("-e").filter(|_| done > 0);
    let files = table.map(|path| (path.into(), csv(&measured.response))).into_iter().collect();
    Page { text: out, files }
}

fn counts(out: &mut String, options: &PageOptions, result: &RunResult, done: u64) {
    let (errors, seconds) = (&result.errors, result.load.measured_s);
    let receive = errors.reset + errors.closed + errors.truncated + errors.timeout;
    let failed = errors.connect + receive + errors.protocol;
    let bodies = result.responses.as_ref().and_then(|responses| responses.body_bytes);
    row(out, "Server Software", "");
    let Url { host, port, protocol, .. } = &options.url;
    row(out, "Server Hostname", host);
    row(out, "Server Port", format!("{port}\n"));
    row(out, "Document Path", if let Protocol::Http { target, .. } = protocol { target } else { "/" });
    let length = bodies.filter(|bytes| done > 0 && !options.given.is_on("-l") && bytes % done == 0);
    let length = length.map_or("Variable".to_owned(), |bytes| format!("{} bytes", bytes / done));
    row(out, "Document Length", format!("{length}\n"));
    row(out, "Concurrency Level", options.connections);
    row(out, "Time taken for tests", format!("{seconds:.3} seconds"));
    row(out, "Complete requests", done);
    row(out, "Failed requests", failed);
    if failed > 0 {
        let (connect, except) = (errors.connect, errors.protocol);
        let _ = writeln!(out, "   (Connect: {connect}, Receive: {receive}, Length: 0, Exceptions: {except})");
    }
    let statuses = result.responses.iter().flat_map(|responses| &responses.statuses);
    let other: u64 = statuses.filter(|(status, _)| !status.starts_with('2')).map(|(_, count)| count).sum();
    if other > 0 {
        row(out, "Non-2xx responses", other);
    }
    if options.given.is_on("-k") {
        // Each connection beyond the first of a slot replaces one that was not kept alive.
        let reopened = result.connections.opened.saturating_sub(options.connections);
        row(out, "Keep-Alive requests", done.saturating_sub(reopened));
    }
    let (received, sent) = (result.bytes.received, result.bytes.sent);
    row(out, "Total transferred", format!("{received} bytes"));
    if options.has_body {
        row(out, "Total body sent", sent);
    }
    row(out, "HTML transferred", format!("{} bytes", bodies.unwrap_or(0)));
    if seconds > 0.0 && done > 0 {
        let (count, connections) = (done as f64, options.connections as f64);
        row(out, "Requests per second", format!("{:.2} [#/sec] (mean)", count / seconds));
        row(out, "Time per request", format!("{:.3} [ms] (mean)", connections * seconds * 1e3 / count));
        let each = seconds * 1e3 / count;
        row(out, "Time per request", format!("{each:.3} [ms] (mean, across all concurrent requests)"));
        let [rate, out_rate] = [received, sent].map(|bytes| bytes as f64 / 1024.0 / seconds);
        row(out, "Transfer rate", format!("{rate:.2} [Kbytes/sec] received"));
        if options.has_body {
            let _ = writeln!(out, "{:24}{out_rate:.2} kb/s sent\n{:24}{:.2} kb/s total", "", "", rate + out_rate);
        }
    }
}

fn row(out: &mut String, name: &str, value: impl Display) {
    let _ = writeln!(out, "{:<23} {value}", format!("{name}:"));
}

/// A row of the table of times, in milliseconds.
#[derive(Default)]
pub(super) struct Times {
    pub min: u64,
    pub mean: u64,
    pub stdev: f64,
    pub median: u64,
    pub max: u64,
}

impl Times {
    fn of(times: &Histogram<u64>) -> Self {
        let spread = Spread::of(times);
        let median = ms(times.value_at_quantile(0.5) as f64);
        let (min, mean, max) = (ms(times.min() as f64), ms(spread.mean), ms(times.max() as f64));
        Self { min, mean, stdev: spread.stdev / 1e6, median, max }
    }

    pub fn row(&self, out: &mut String, name: &str, confidence: bool) {
        let Self { min, mean, stdev, median, max } = self;
        let _ = match confidence {
            true => writeln!(out, "{name:<11} {min:5} {mean:4} {stdev:5.1} {median:6} {max:7}"),
            false => writeln!(out, "{name:<11} {min:5} {mean:5}{max:5}"),
        };
    }

    /// ab's own warning.
    pub fn warning(&self, out: &mut String, what: &str) {
        let apart = self.mean.abs_diff(self.median) as f64;
        if apart > 2.0 * self.stdev {
            let _ = writeln!(out, "ERROR: The median and mean for {what} are more than twice the standard");
            out.push_str("       deviation apart. These results are NOT reliable.\n");
        } else if apart > self.stdev {
            let _ = writeln!(out, "WARNING: The median and mean for {what} are not within a normal deviation");
            out.push_str("        These results are probably not that reliable.\n");
        }
    }
}

fn times(out: &mut String, options: &PageOptions, measured: &Measurement) {
    if measured.response.is_empty() {
        return;
    }
    let confidence = !options.given.is_on("-S");
    let columns = if confidence { "min  mean[+/-sd] median   max" } else { "min   avg   max" };
    let _ = writeln!(out, "\nConnection Times (ms)\n              {columns}");
    if options.given.is_on("-k") {
        Times::default().row(out, "Connect:", confidence);
    }
    let (processing, total) = (Times::of(&measured.service), Times::of(&measured.response));
    processing.row(out, "Processing:", confidence);
    total.row(out, "Total:", confidence);
    if confidence {
        processing.warning(out, "the processing time");
        total.warning(out, "the total time");
    }
    if options.given.is_on("-d") || measured.response.len() < 2 {
        return;
    }
    out.push_str("\nPercentage of the requests served within a certain time (ms)\n");
    for percent in [50, 66, 75, 80, 90, 95, 98, 99] {
        let time = ms(measured.response.value_at_percentile(f64::from(percent)) as f64);
        let _ = writeln!(out, "  {percent}%  {time:5}");
    }
    let _ = writeln!(out, " 100%  {:5} (longest request)", ms(measured.response.max() as f64));
}

fn csv(times: &Histogram<u64>) -> String {
    let mut out = String::from("Percentage served,Time in ms\n");
    for percent in 0..=100u32 {
        let nanos = if percent == 0 { times.min() } else { times.value_at_percentile(f64::from(percent)) };
        let _ = writeln!(out, "{percent},{:.3}", nanos as f64 / 1e6);
    }
    out
}

fn ms(nanos: f64) -> u64 {
    (nanos / 1e6).round() as u64
}
