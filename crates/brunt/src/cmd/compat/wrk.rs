//! `brunt as wrk`: wrk's flags, and wrk2's where they differ (`-R`, `-U`).

pub(super) mod page;

use super::argv::{Flag, Given, Syntax, flag, same};
use super::{ArgError, Invocation, Page};
use brunt_results::Span;
use std::time::Duration;

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
    let options = PageOptions { given, url, threads, connections, seconds: duration.0.as_secs_f64() };
    let head = page::head(&options);
    let page = move |measured: &super::Measurement| Page { text: page::page(&options, measured), files: Vec::new() };
    Ok(Invocation { load, head, on_stderr: false, page: Box::new(page) })
}
