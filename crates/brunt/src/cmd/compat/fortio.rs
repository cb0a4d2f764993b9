//! `brunt as fortio load`: fortio's flags for HTTP/1.1.

mod page;

use super::{
    ArgError, Invocation,
    argv::{Flag, Syntax, count, read, url},
    go_format::{seconds, switch},
};
use std::{path::PathBuf, time::Duration};

const FLAGS: &[Flag] = &[
    Flag { name: "-c", also: &[], value: "N", help: "connections [4]" },
    Flag { name: "-qps", also: &[], value: "N", help: "requests per second; 0 or less is a closed loop [8]" },
    Flag { name: "-t", also: &[], value: "TIME", help: "[5s]; 0 is until interrupted, a day at most" },
    Flag { name: "-n", also: &[], value: "N", help: "end after this many requests, in the place of -t" },
    Flag { name: "-p", also: &[], value: "LIST", help: "percentiles [50,75,90,99,99.9]" },
    Flag { name: "-r", also: &[], value: "SECONDS", help: "width of the histogram's smallest bins [0.001]" },
    Flag { name: "-json", also: &[], value: "FILE", help: "write the result as JSON, to stdout with -" },
    Flag { name: "-a", also: &[], value: "", help: "write the JSON to a file named after the time and the labels" },
    Flag { name: "-data-dir", also: &[], value: "DIR", help: "where -a writes [.]" },
    Flag { name: "-labels", also: &[], value: "TEXT", help: "kept in the JSON [the address and this machine's name]" },
    Flag { name: "-H", also: &[], value: "LINE", help: "header of each request" },
    Flag { name: "-X", also: &["-method"], value: "METHOD", help: "[GET, with a payload POST]" },
    Flag { name: "-payload", also: &[], value: "TEXT", help: "body of each request" },
    Flag { name: "-payload-file", also: &[], value: "FILE", help: "body of each request" },
    Flag { name: "-payload-size", also: &[], value: "BYTES", help: "body of each request, of so many bytes" },
    Flag { name: "-content-type", also: &[], value: "TYPE", help: "Content-Type of the body" },
    Flag { name: "-user", also: &[], value: "USER:PASSWORD", help: "basic authentication" },
    Flag { name: "-timeout", also: &[], value: "TIME", help: "of a request [3s]" },
    Flag { name: "-keepalive", also: &[], value: "", help: "=false: a connection for each request" },
    Flag { name: "-http1.0", also: &[], value: "", help: "HTTP/1.0" },
    Flag { name: "-k", also: &["-https-insecure"], value: "", help: "take any certificate of https://" },
    Flag { name: "-cacert", also: &[], value: "FILE", help: "trust the authorities in it and no other" },
    Flag { name: "-cert", also: &[], value: "FILE", help: "certificate for servers that ask for one" },
    Flag { name: "-key", also: &[], value: "FILE", help: "its private key" },
    Flag { name: "-quiet", also: &[], value: "", help: "nothing is logged anyway" },
    Flag { name: "-uniform", also: &[], value: "", help: "arrivals are always spread evenly" },
    Flag { name: "-loglevel", also: &[], value: "LEVEL", help: "nothing is logged anyway" },
    Flag { name: "-log-errors", also: &[], value: "", help: "nothing is logged anyway" },
    Flag { name: "-allow-initial-errors", also: &[], value: "", help: "errors never end a load" },
    Flag { name: "-stdclient", also: &[], value: "", help: "there is one client" },
    Flag { name: "-httpbufferkb", also: &[], value: "N", help: "buffers are as large as they need to be" },
    Flag { name: "-gomaxprocs", also: &[], value: "N", help: "there is one load thread" },
    Flag { name: "-sequential-warmup", also: &[], value: "", help: "there is no warm-up" },
    Flag { name: "-no-reresolve", also: &[], value: "", help: "names are resolved once" },
];

const TOOL: &str = "fortio";
/// Bytes of -payload-size.
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
    let given = read(TOOL, Syntax::Go, FLAGS, words)?;
    let url = url(TOOL, &given)?;
    let wrong = |name: &str, value: &str, want: &str| {
        ArgError::Usage(format!("brunt as fortio {name}: '{value}' is not {want}"))
    };
    let number = |name: &str, value: &str| {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| wrong(name, value, "a number"))
    };
    let time = |name: &str, value: &str| seconds(value).ok_or_else(|| wrong(name, value, "a time such as 1m30s"));
    let (mut connections, mut qps, mut duration, mut timeout) = (4, 8.0, 5.0, 3.0);
    let (mut requests, mut resolution, mut json, mut labels) = (None, 0.001, None, String::new());
    let (mut percentiles, mut load) = (vec![50.0, 75.0, 90.0, 99.0, 99.9], vec![url.clone()]);
    let (mut method, mut body, mut named, mut directory) = (None, None, false, PathBuf::new());
    for (name, value) in &given {
        let is_switch = FLAGS.iter().any(|flag| flag.name == *name && flag.value.is_empty());
        let is_on = !is_switch || switch(value).ok_or_else(|| wrong(name, value, "true or false"))?;
        let mut pass = |flag: &str, value: String| load.extend([flag.to_owned(), value]);
        match *name {
            "-c" => connections = count(TOOL, name, value)?,
            "-qps" => qps = number(name, value)?.max(0.0),
            "-t" => duration = time(name, value)?,
            "-n" => requests = Some(count(TOOL, name, value)?).filter(|count| *count > 0),
            "-p" => {
                let list = value.split(',').map(|p| {
                    let number = number(name, p.trim())?;
                    let is_share = (0.0..=100.0).contains(&number);
                    is_share.then_some(number).ok_or_else(|| wrong(name, value, "a list of percentages"))
                });
                percentiles = list.collect::<Result<_, _>>()?;
            }
            "-r" => resolution = number(name, value)?.max(1e-9),
            "-json" => json = Some(PathBuf::from(value)),
            "-a" => named = is_on,
            "-data-dir" => directory = PathBuf::from(value),
            "-labels" => labels = value.clone(),
            "-H" => pass("-H", value.clone()),
            "-X" => method = Some(value.clone()),
            "-payload" => body = Some(value.clone()),
            "-payload-file" => body = Some(format!("@{value}")),
            "-payload-size" => {
                let size = count(TOOL, name, value)?;
                if size > LARGEST_PAYLOAD {
                    return Err(wrong(name, value, "at most 1 MiB; write a file and use -payload-file"));
                }
                body = Some("x".repeat(size as usize)).filter(|body| !body.is_empty());
            }
            "-content-type" => pass("-H", format!("Content-Type: {value}")),
            "-user" => pass("-H", super::basic(value)),
            "-timeout" => timeout = time(name, value)?,
            "-keepalive" if !is_on => load.push("--no-keepalive".to_owned()),
            "-k" if is_on => load.push("--insecure".to_owned()),
            "-cacert" | "-cert" | "-key" => pass(&format!("-{name}"), value.clone()),
            "-http1.0" if is_on => load.push("--http1.0".to_owned()),
            _ => {}
        }
    }
    let agent = format!("fortio.org/fortio-brunt-{}", env!("CARGO_PKG_VERSION"));
    super::add_default_headers(&mut load, &[("User-Agent", &agent[..])]);
    if labels.is_empty() {
        labels = page::labels(&url);
    }
    let id = page::id(&labels);
    json = json.or_else(|| named.then(|| directory.join(format!("{id}.json"))));
    let mut pass = |flag: &str, value: String| load.extend([flag.to_owned(), value]);
    pass("-c", connections.to_string());
    if let Some(method) = method.or_else(|| body.is_some().then(|| "POST".to_owned())) {
        pass("-X", method);
    }
    if let Some(body) = body {
        pass("--body", body);
    }
    if qps > 0.0 {
        pass("-R", qps.to_string());
    }
    match requests {
        Some(requests) => pass("-n", requests.to_string()),
        None if duration > 0.0 => pass("-d", span(duration)),
        None => pass("-d", "24h".to_owned()),
    }
    pass("--timeout", span(timeout));
    pass("--warmup", "0s".to_owned());
    load.extend(["--quiet", "--allow-untrusted"].map(str::to_owned));
    let (seconds, duration) = (duration, (duration > 0.0).then(|| super::go_format::duration(duration)));
    let options =
        PageOptions { url, connections, qps, duration, seconds, requests, percentiles, resolution, json, labels, id };
    let head = page::head(&options);
    Ok(Invocation { load, head, on_stderr: true, page: Box::new(move |measured| page::page(&options, measured)) })
}

/// Formats seconds for `brunt load`.
fn span(seconds: f64) -> String {
    brunt_results::Span(Duration::from_secs_f64(seconds.min(1e9))).to_string()
}
