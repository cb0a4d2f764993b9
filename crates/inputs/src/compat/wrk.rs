//! `brunt as wrk`: flags of wrk, and of wrk2 where they differ (`-R`, `-U`); their output, byte for byte. Times are
//! service times without a rate (wrk), response times with one (wrk2).

use super::argv::{Flag, Given, Syntax, flag, same};
use super::{ArgError, Invocation, Measurement, Page, spread::Spread};
use crate::address;
use brunt_results::Span;
use hdrhistogram::Histogram;
use std::{fmt::Write, time::Duration};

const FLAGS: &[Flag] = &[
    flag("-t, --threads", "N", "threads [2]"),
    flag("-c, --connections", "N", "connections over all threads [10]"),
    flag("-d, --duration", "TIME", "2s, 2m, 2h; a bare number is seconds [10s]"),
    same("-R, --rate", "N", "wrk2: requests per second over all connections", &["-R", "{}"]),
    same("-s, --script", "FILE", "Lua script", &["--script", "{}"]),
    same("-H, --header", "LINE", "header of each request", &["-H", "{}"]),
    flag("-L, --latency", "", "print percentiles"),
    flag("-U, --u_latency", "", "wrk2: print percentiles of the service time too"),
    flag("-T, --timeout", "TIME", "[2s]"),
];

/// The command line as far as the page shows it.
struct PageOptions {
    given: Given,
    url: String,
    threads: u64,
    connections: u64,
    seconds: f64,
}

pub(super) fn parse(words: &[String]) -> Result<Invocation, ArgError> {
    let mut given = Given::read("wrk", Syntax::Getopt, FLAGS, words)?;
    // With a script, arguments after the URL belong to its init().
    let mut for_script = Vec::new();
    if let Some(url) = given.args.iter().position(|(name, _)| name.is_empty()).filter(|_| given.last("-s").is_some()) {
        let (plain, flags): (Vec<_>, Vec<_>) =
            given.args.split_off(url + 1).into_iter().partition(|(name, _)| name.is_empty());
        given.args.extend(flags);
        for_script.extend(plain.into_iter().map(|(_, word)| word));
    }
    let url = given.url()?;
    let (threads, connections) = (given.count("-t")?.unwrap_or(2), given.count("-c")?.unwrap_or(10));
    if connections < threads {
        return Err(ArgError::Usage("number of connections must be >= threads".to_owned()));
    }
    let seconds = |seconds| Span(Duration::from_secs(seconds));
    let (duration, timeout) = (given.time("-d")?.unwrap_or(seconds(10)), given.time("-T")?.unwrap_or(seconds(2)));
    let line = format!(
        "-t {threads} -c {connections} -d {duration} --warmup 0s --timeout {timeout} --quiet --allow-untrusted"
    );
    let mut load = vec![url.clone()];
    load.extend(line.split(' ').map(str::to_owned));
    super::accept_any_certificate(&mut load, &url);
    // wrk's way to request a connection per request.
    let closes = |(name, value): &(&str, String)| {
        *name == "-H" && value.replace(' ', "").eq_ignore_ascii_case("connection:close")
    };
    if given.args.iter().any(closes) {
        given.args.retain(|arg| !closes(arg));
        load.push("--no-keepalive".to_owned());
    }
    load.extend(given.translated());
    if !for_script.is_empty() {
        load.push("--".to_owned());
        load.extend(for_script);
    }
    let options =
        PageOptions { given, url: address::shown(&url), threads, connections, seconds: duration.0.as_secs_f64() };
    let head = head(&options);
    let page = move |measured: &Measurement| Page { text: page(&options, measured), files: Vec::new() };
    Ok(Invocation { load, head, on_stderr: false, page: Box::new(page) })
}

impl PageOptions {
    /// As for wrk2, which prints a different percentile list.
    fn has_rate(&self) -> bool {
        self.given.last("-R").is_some()
    }
}

fn head(options: &PageOptions) -> String {
    let PageOptions { url, threads, connections, .. } = options;
    let time = scaled(options.seconds, 60.0, "s", &["m"], 0);
    format!("Running {time} test @ {url}\n  {threads} threads and {connections} connections\n")
}

fn page(options: &PageOptions, measured: &Measurement) -> String {
    let result = measured.result;
    let latency = if options.has_rate() { &measured.response } else { &measured.service };
    let mut out = format!("  Thread Stats{:>6}{:>11}{:>8}{:>12}\n", "Avg", "Stdev", "Max", "+/- Stdev");
    let us = Spread::of(latency);
    let us = Spread { mean: us.mean / 1e3, stdev: us.stdev / 1e3, max: us.max / 1e3, ..us };
    stats(&mut out, "Latency", us, time_us);
    stats(&mut out, "Req/Sec", Spread::of_numbers(&rates(options, measured)), metric);
    if options.given.is_on("-L") || options.given.is_on("-U") {
        percentiles(&mut out, options, measured);
    }
    // wrk counts replies with error statuses as requests.
    let replies = result.requests.completed + result.errors.status;
    let (seconds, received) = (result.load.measured_s, result.bytes.received as f64);
    let _ = writeln!(out, "  {replies} requests in {}, {}B read", time_us(seconds * 1e6), binary(received));
    let errors = &result.errors;
    let read = errors.reset + errors.closed + errors.truncated + errors.protocol;
    if errors.connect + read + errors.timeout > 0 {
        let (connect, timeout) = (errors.connect, errors.timeout);
        let _ = writeln!(out, "  Socket errors: connect {connect}, read {read}, write 0, timeout {timeout}");
    }
    if errors.status > 0 {
        let _ = writeln!(out, "  Non-2xx or 3xx responses: {}", errors.status);
    }
    let per_second = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
    let _ = writeln!(out, "Requests/sec: {:9.2}", per_second(replies as f64));
    let _ = writeln!(out, "Transfer/sec: {:>10}B", binary(per_second(received)));
    out
}

pub(super) fn stats(out: &mut String, name: &str, spread: Spread, show: fn(f64) -> String) {
    let _ = write!(out, "    {name:<10}");
    out.push_str(&aligned(&show(spread.mean), 8));
    out.push_str(&aligned(&show(spread.stdev), 10));
    out.push_str(&aligned(&show(spread.max), 9));
    // C's spelling of NaN.
    let within = if spread.within.is_nan() { "-nan".to_owned() } else { format!("{:.2}", spread.within) };
    let _ = writeln!(out, "{within:>8}%");
}

/// Requests of one thread in each second; a partial last second counts from half a second on.
fn rates(options: &PageOptions, measured: &Measurement) -> Vec<f64> {
    let mut rates = Vec::new();
    let mut before = 0.0;
    for second in measured.seconds {
        let length = second.at_s - before;
        if length >= 0.5 {
            rates.push(second.completed as f64 / length / options.threads as f64);
        }
        before = second.at_s;
    }
    if rates.is_empty() {
        rates.push(measured.result.requests.rate / options.threads as f64);
    }
    rates
}

fn percentiles(out: &mut String, options: &PageOptions, measured: &Measurement) {
    if !options.has_rate() {
        out.push_str("  Latency Distribution\n");
        for percent in [50.0, 75.0, 90.0, 99.0] {
            let us = measured.service.value_at_percentile(percent) as f64 / 1e3;
            let _ = writeln!(out, "{percent:7.0}%{}", aligned(&time_us(us), 10));
        }
        return;
    }
    percentile_list(out, &measured.response, "Recorded Latency");
    if options.given.is_on("-U") {
        let what = "Uncorrected Latency (measured without taking delayed starts into account)";
        out.push('\n');
        percentile_list(out, &measured.service, what);
    }
}

/// wrk2's list, then all percentiles in HdrHistogram's layout; values in milliseconds.
fn percentile_list(out: &mut String, times: &Histogram<u64>, what: &str) {
    let _ = writeln!(out, "  Latency Distribution (HdrHistogram - {what})");
    for percent in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
        let us = times.value_at_percentile(percent) as f64 / 1e3;
        let _ = writeln!(out, "{percent:7.3}%{}", aligned(&time_us(us), 10));
    }
    out.push_str("\n  Detailed Percentile spectrum:\n");
    let _ = writeln!(out, "{:>12} {:>12} {:>12} {:>12}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut total = 0;
    for at in times.iter_quantiles(5) {
        total += at.count_since_last_iteration();
        let (value, quantile) = (at.value_iterated_to() as f64 / 1e6, at.quantile_iterated_to());
        let _ = write!(out, "{value:12.3} {quantile:12.6} {total:12} ");
        let _ = match quantile < 1.0 {
            true => writeln!(out, "{:12.2}", 1.0 / (1.0 - quantile)),
            false => writeln!(out, "{:>12}", "inf"),
        };
    }
    let (mean, stdev, max) = (times.mean() / 1e6, times.stdev() / 1e6, times.max() as f64 / 1e6);
    let _ = writeln!(out, "#[Mean    = {mean:12.3}, StdDeviation   = {stdev:12.3}]");
    let _ = writeln!(out, "#[Max     = {max:12.3}, Total count    = {:12}]", times.len());
    // Fixed by a histogram of 3 digits up to an hour in nanoseconds.
    let _ = writeln!(out, "#[Buckets = {:12}, SubBuckets     = {:12}]\n{:-<58}", times.buckets(), 2048, "");
}

/// Right-aligned; missing unit letters are padded so that digits align.
fn aligned(text: &str, width: usize) -> String {
    let letters = text.bytes().rev().take(2).filter(u8::is_ascii_alphabetic).count();
    let pad = 2 - letters;
    let width = width - pad;
    // C truncates wider text.
    let cut: String = text.chars().take(width).collect();
    format!("{cut:>width$}{:pad$}", "")
}

/// Scales to the largest unit of which the number is at least 85 %.
fn scaled(number: f64, scale: f64, base: &str, units: &[&str], decimals: usize) -> String {
    let (mut number, mut unit) = (number, base);
    for larger in units {
        if number < scale * 0.85 {
            break;
        }
        number /= scale;
        unit = larger;
    }
    format!("{number:.decimals$}{unit}")
}

// wrk's lists have one more unit at the end, which it never prints; omitted here.

pub(super) fn time_us(us: f64) -> String {
    if us >= 1e6 { scaled(us / 1e6, 60.0, "s", &["m"], 2) } else { scaled(us, 1000.0, "us", &["ms"], 2) }
}

pub(super) fn metric(number: f64) -> String {
    scaled(number, 1000.0, "", &["k", "M", "G", "T"], 2)
}

fn binary(number: f64) -> String {
    scaled(number, 1024.0, "", &["K", "M", "G", "T"], 2)
}
