//! `brunt as fortio load`: fortio's flags for HTTP/1.1.

mod page;

use super::{
    Asked, Refusal,
    words::{Flag, Manner, count, read, time, url},
};
use std::path::PathBuf;

const FLAGS: &[Flag] = &[
    Flag { name: "-c", also: &[], value: "N", help: "connections [4]" },
    Flag { name: "-qps", also: &[], value: "N", help: "requests per second, 0 for a closed loop [8]" },
    Flag { name: "-t", also: &[], value: "TIME", help: "[5s]" },
    Flag { name: "-n", also: &[], value: "N", help: "end after this many requests, in the place of -t" },
    Flag { name: "-p", also: &[], value: "LIST", help: "percentiles [50,75,90,99,99.9]" },
    Flag { name: "-r", also: &[], value: "SECONDS", help: "width of the histogram's smallest bins [0.001]" },
    Flag { name: "-json", also: &[], value: "FILE", help: "write the result as JSON, to stdout with -" },
    Flag { name: "-labels", also: &[], value: "TEXT", help: "kept in the JSON" },
    Flag { name: "-H", also: &[], value: "LINE", help: "header of each request" },
    Flag { name: "-X", also: &["-method"], value: "METHOD", help: "[GET, with a payload POST]" },
    Flag { name: "-payload", also: &[], value: "TEXT", help: "body of each request" },
    Flag { name: "-payload-file", also: &[], value: "FILE", help: "body of each request" },
    Flag { name: "-content-type", also: &[], value: "TYPE", help: "Content-Type of the body" },
    Flag { name: "-timeout", also: &[], value: "TIME", help: "of a request [3s]" },
    Flag { name: "-keepalive", also: &[], value: "", help: "=false: a connection for each request" },
    Flag { name: "-http1.0", also: &[], value: "", help: "HTTP/1.0" },
    Flag { name: "-quiet", also: &[], value: "", help: "nothing is logged anyway" },
    Flag { name: "-a", also: &[], value: "", help: "write the JSON to a file named after the time" },
    Flag { name: "-uniform", also: &[], value: "", help: "arrivals are always spread evenly" },
    Flag { name: "-loglevel", also: &[], value: "LEVEL", help: "nothing is logged anyway" },
];

const TOOL: &str = "fortio";

/// What of the command line the page shows.
struct Shape {
    url: String,
    connections: u64,
    /// 0 is the closed loop.
    qps: f64,
    /// As Go prints it.
    duration: String,
    seconds: f64,
    requests: Option<u64>,
    percentiles: Vec<f64>,
    resolution: f64,
    json: Option<PathBuf>,
    labels: String,
}

pub(super) fn asked(words: &[String]) -> Result<Asked, Refusal> {
    let words = match words.split_first() {
        Some((command, rest)) if command == "load" => rest,
        Some((command, _)) if !command.starts_with('-') => {
            return Err(Refusal::Wrong(format!("brunt as fortio {command}: the one command is load")));
        }
        _ => words,
    };
    let given = read(TOOL, Manner::Go, FLAGS, words)?;
    let url = url(TOOL, &given)?;
    let wrong = |name: &str, value: &str, want: &str| {
        Refusal::Wrong(format!("brunt as fortio {name}: '{value}' is not {want}"))
    };
    let number = |name: &str, value: &str| {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| wrong(name, value, "a number from 0 up"))
    };
    let (mut connections, mut qps, mut duration, mut timeout) = (4, 8.0, "5s".to_owned(), "3s".to_owned());
    let (mut requests, mut resolution, mut json, mut labels) = (None, 0.001, None, String::new());
    let (mut percentiles, mut load) = (vec![50.0, 75.0, 90.0, 99.0, 99.9], vec![url.clone()]);
    let (mut method, mut has_body) = (None, false);
    for (name, value) in &given {
        let is_on = value != "false";
        let mut pass = |flag: &str, value: String| load.extend([flag.to_owned(), value]);
        match *name {
            "-c" => connections = count(TOOL, name, value)?,
            "-qps" => qps = number(name, value)?,
            "-t" => duration = time(TOOL, name, value)?,
            "-n" => requests = Some(count(TOOL, name, value)?).filter(|count| *count > 0),
            "-p" => {
                let list = value.split(',').map(|p| {
                    number(name, p.trim()).and_then(|p| {
                        (p <= 100.0).then_some(p).ok_or_else(|| wrong(name, value, "a list of percentages"))
                    })
                });
                percentiles = list.collect::<Result<_, _>>()?;
            }
            "-r" => resolution = number(name, value)?.max(1e-9),
            "-json" => json = Some(PathBuf::from(value)),
            "-a" if is_on => json = json.or_else(|| Some(page::file_name())),
            "-labels" => labels = value.clone(),
            "-H" => pass("-H", value.clone()),
            "-X" => method = Some(value.clone()),
            "-payload" | "-payload-file" => {
                let file = if *name == "-payload" { "" } else { "@" };
                pass("--body", format!("{file}{value}"));
                has_body = true;
            }
            "-content-type" => pass("-H", format!("Content-Type: {value}")),
            "-timeout" => timeout = time(TOOL, name, value)?,
            "-keepalive" if !is_on => load.push("--no-keepalive".to_owned()),
            "-http1.0" if is_on => load.push("--http1.0".to_owned()),
            _ => {}
        }
    }
    let mut pass = |flag: &str, value: String| load.extend([flag.to_owned(), value]);
    pass("-c", connections.to_string());
    if let Some(method) = method.or_else(|| has_body.then(|| "POST".to_owned())) {
        pass("-X", method);
    }
    if qps > 0.0 {
        pass("-R", qps.to_string());
    }
    match requests {
        Some(requests) => pass("-n", requests.to_string()),
        None => pass("-d", duration.clone()),
    }
    pass("--timeout", timeout);
    pass("--warmup", "0s".to_owned());
    load.extend(["--quiet", "--allow-untrusted"].map(str::to_owned));
    let seconds = duration.parse::<outcome::Span>().map_or(0.0, |span| span.0.as_secs_f64());
    let duration = super::go::duration(seconds);
    let shape = Shape { url, connections, qps, duration, seconds, requests, percentiles, resolution, json, labels };
    let head = page::head(&shape);
    Ok(Asked { load, head, on_stderr: true, page: Box::new(move |seen| page::page(&shape, seen)) })
}
