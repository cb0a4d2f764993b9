//! `brunt as fortio load`: fortio's flags for HTTP/1.1.

mod page;

use super::argv::{Flag, Given, Syntax, flag, same};
use super::{ArgError, Invocation, go_format};
use crate::address;
use brunt_results::{Count, Span};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FLAGS: &[Flag] = &[
    flag("-c", "N", "connections [4]"),
    flag("-qps", "N", "requests per second; 0 or less is a closed loop [8]"),
    flag("-t", "TIME", "[5s]; 0 is until interrupted, a day at most"),
    flag("-n", "N", "end after this many requests, in the place of -t"),
    flag("-p", "LIST", "percentiles [50,75,90,99,99.9]"),
    flag("-r", "SECONDS", "width of the histogram's smallest bins [0.001]"),
    flag("-json", "FILE", "write the result as JSON, to stdout with -"),
    flag("-a", "", "write the JSON to a file named after the time and the labels"),
    flag("-data-dir", "DIR", "where -a writes [.]"),
    flag("-labels", "TEXT", "kept in the JSON [the address and this machine's name]"),
    same("-H", "LINE", "header of each request", &["-H", "{}"]),
    flag("-X, -method", "METHOD", "[GET, with a payload POST]"),
    flag("-payload", "TEXT", "body of each request"),
    flag("-payload-file", "FILE", "body of each request"),
    flag("-payload-size", "BYTES", "body of each request, of so many bytes"),
    same("-content-type", "TYPE", "Content-Type of the body", &["-H", "Content-Type: {}"]),
    same("-user", "USER:PASSWORD", "basic authentication", &["-H", "{basic}"]),
    flag("-timeout", "TIME", "of a request [3s]"),
    flag("-keepalive", "", "=false: a connection for each request"),
    same("-http1.0", "", "HTTP/1.0", &["--http1.0"]),
    same("-k, -https-insecure", "", "take any certificate of https://", &["--insecure"]),
    same("-cacert", "FILE", "trust the authorities in it and no other", &["--cacert", "{}"]),
    same("-cert", "FILE", "certificate for servers that ask for one", &["--cert", "{}"]),
    same("-key", "FILE", "its private key", &["--key", "{}"]),
    flag("-quiet", "", "nothing is logged anyway"),
    flag("-uniform", "", "arrivals are always spread evenly"),
    flag("-loglevel", "LEVEL", "nothing is logged anyway"),
    flag("-log-errors", "", "nothing is logged anyway"),
    flag("-allow-initial-errors", "", "errors never end a load"),
    flag("-stdclient", "", "there is one client"),
    flag("-httpbufferkb", "N", "buffers are as large as they need to be"),
    flag("-gomaxprocs", "N", "there is one load thread"),
    flag("-sequential-warmup", "", "there is no warm-up"),
    flag("-no-reresolve", "", "names are resolved once"),
];

const LARGEST_PAYLOAD: u64 = 1 << 20;

/// Command-line values shown on the page.
struct PageOptions {
    url: String,
    connections: u64,
    /// 0 is a closed loop.
    qps: f64,
    /// As printed by Go; `None` is until interrupted.
    duration: Option<String>,
    seconds: f64,
    requests: Option<u64>,
    percentiles: Vec<f64>,
    resolution: f64,
    json: Option<PathBuf>,
    labels: String,
    id: String,
}

pub(super) fn parse(words: &[String]) -> Result<Invocation, ArgError> {
    let words = match words.split_first() {
        Some((command, rest)) if command == "load" => rest,
        Some((command, _)) if !command.starts_with('-') => {
            return Err(ArgError::Usage(format!("brunt as fortio {command}: the one command is load")));
        }
        _ => words,
    };
    let given = Given::read("fortio", Syntax::Go, FLAGS, words)?;
    let options = page_options(&given)?;
    let mut load = vec![given.url()?];
    load.extend(given.translated());
    if given.last("-keepalive").and_then(go_format::switch) == Some(false) {
        load.push("--no-keepalive".to_owned());
    }
    let agent = format!("fortio.org/fortio-brunt-{}", env!("CARGO_PKG_VERSION"));
    super::add_default_headers(&mut load, &[("User-Agent", &agent[..])]);
    let mut pass = |flag: &str, value: String| load.extend([flag.to_owned(), value]);
    pass("-c", options.connections.to_string());
    let body = body(&given)?;
    let method = given.last("-X").or(body.is_some().then_some("POST"));
    if let Some(method) = method {
        pass("-X", method.to_owned());
    }
    if let Some(body) = body {
        pass("--body", body);
    }
    if options.qps > 0.0 {
        pass("-R", options.qps.to_string());
    }
    match options.requests {
        Some(requests) => pass("-n", requests.to_string()),
        None if options.seconds > 0.0 => pass("-d", span(options.seconds)),
        None => pass("-d", "24h".to_owned()),
    }
    pass("--timeout", span(given.parsed("-timeout", time)?.unwrap_or(3.0)));
    pass("--warmup", "0s".to_owned());
    load.extend(["--quiet", "--allow-untrusted"].map(str::to_owned));
    let head = page::head(&options);
    Ok(Invocation { load, head, on_stderr: true, page: Box::new(move |measured| page::page(&options, measured)) })
}

fn page_options(given: &Given) -> Result<PageOptions, ArgError> {
    let url = address::shown(&given.url()?);
    let percentiles = |value: &str| {
        let percentile = |p: &str| match number(p.trim())? {
            p if (0.0..=100.0).contains(&p) => Ok(p),
            _ => Err(format!("'{value}' is not a list of percentages")),
        };
        value.split(',').map(percentile).collect::<Result<Vec<f64>, _>>()
    };
    let seconds = given.parsed("-t", time)?.unwrap_or(5.0);
    let labels = given.last("-labels").filter(|labels| !labels.is_empty());
    let labels = labels.map_or_else(|| page::labels(&url), str::to_owned);
    let id = page::id(page::now(), &labels);
    let named = || Path::new(given.last("-data-dir").unwrap_or_default()).join(format!("{id}.json"));
    Ok(PageOptions {
        connections: given.count("-c")?.unwrap_or(4),
        qps: given.parsed("-qps", number)?.unwrap_or(8.0).max(0.0),
        duration: (seconds > 0.0).then(|| go_format::duration(seconds)),
        seconds,
        requests: given.count("-n")?.filter(|count| *count > 0),
        percentiles: given.parsed("-p", percentiles)?.unwrap_or(vec![50.0, 75.0, 90.0, 99.0, 99.9]),
        resolution: given.parsed("-r", number)?.unwrap_or(0.001).max(1e-9),
        json: given.last("-json").map(PathBuf::from).or_else(|| given.is_on("-a").then(named)),
        url,
        labels,
        id,
    })
}

/// Body of the last flag that sets one.
fn body(given: &Given) -> Result<Option<String>, ArgError> {
    let size = given.parsed("-payload-size", |value| match value.parse::<Count>() {
        Ok(size) if size.0 > LARGEST_PAYLOAD => {
            Err(format!("'{value}' is not at most 1 MiB; write a file and use -payload-file"))
        }
        size => size.map(|size| size.0 as usize).map_err(|why| why.to_string()),
    })?;
    let last = given.args.iter().rfind(|(name, _)| name.starts_with("-payload"));
    Ok(last.and_then(|(name, value)| match *name {
        "-payload" => Some(value.clone()),
        "-payload-file" => Some(format!("@{value}")),
        _ => size.filter(|size| *size > 0).map(|size| "x".repeat(size)),
    }))
}

fn number(value: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("'{value}' is not a number"))
}

fn time(value: &str) -> Result<f64, String> {
    go_format::seconds(value).ok_or_else(|| format!("'{value}' is not a time such as 1m30s"))
}

fn span(seconds: f64) -> String {
    Span(Duration::from_secs_f64(seconds.min(1e9))).to_string()
}
