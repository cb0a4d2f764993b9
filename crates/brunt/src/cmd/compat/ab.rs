//! `brunt as ab`: ApacheBench's flags. HTTP/1.0 with a connection per request unless `-k`, as in ab.

pub(super) mod page;

use super::{
    ArgError, Invocation, address,
    argv::{Flag, Syntax, count, read, url},
};
use std::path::PathBuf;

const FLAGS: &[Flag] = &[
    Flag { name: "-n", also: &[], value: "N", help: "requests [1]" },
    Flag { name: "-c", also: &[], value: "N", help: "connections [1]" },
    Flag {
        name: "-t",
        also: &[],
        value: "SECONDS",
        help: "end after so long; without a later -n, after 50000 requests",
    },
    Flag { name: "-s", also: &[], value: "SECONDS", help: "timeout of a request [30]" },
    Flag { name: "-k", also: &[], value: "", help: "keep connections" },
    Flag { name: "-m", also: &[], value: "METHOD", help: "[GET]" },
    Flag { name: "-i", also: &[], value: "", help: "HEAD" },
    Flag { name: "-p", also: &[], value: "FILE", help: "POST this file" },
    Flag { name: "-u", also: &[], value: "FILE", help: "PUT this file" },
    Flag { name: "-T", also: &[], value: "TYPE", help: "its Content-Type [text/plain]" },
    Flag { name: "-H", also: &[], value: "LINE", help: "header of each request" },
    Flag { name: "-B", also: &[], value: "ADDRESS", help: "where connections come from" },
    Flag { name: "-C", also: &[], value: "NAME=VALUE", help: "cookie" },
    Flag { name: "-A", also: &[], value: "USER:PASSWORD", help: "basic authentication" },
    Flag { name: "-e", also: &[], value: "FILE", help: "write the percentiles as CSV" },
    Flag { name: "-d", also: &[], value: "", help: "print no percentiles" },
    Flag {
        name: "-l",
        also: &[],
        value: "",
        help: "bodies may differ in length: they always may, and their length is not printed",
    },
    Flag { name: "-r", also: &[], value: "", help: "go on after an error; a failed connection never ends a load" },
    Flag { name: "-S", also: &[], value: "", help: "print no medians and deviations" },
    Flag { name: "-q", also: &[], value: "", help: "no progress; there is none" },
    Flag { name: "-v", also: &[], value: "LEVEL", help: "no more is printed at any level" },
    Flag { name: "-I", also: &[], value: "", help: "no name for TLS; there is none" },
];

const TOOL: &str = "ab";

/// Command-line values shown on the page.
struct PageOptions {
    host: String,
    port: String,
    path: String,
    connections: u64,
    keepalive: bool,
    percentiles: bool,
    confidence: bool,
    quiet: bool,
    has_body: bool,
    /// The document length is not printed (-l).
    varies: bool,
    table: Option<PathBuf>,
}

pub(super) fn parse(words: &[String]) -> Result<Invocation, ArgError> {
    let given = read(TOOL, Syntax::Getopt, FLAGS, words)?;
    let url = url(TOOL, &given)?;
    let (mut requests, mut connections, mut seconds, mut timeout) = (1, 1, None, 30);
    let (mut keepalive, mut percentiles, mut confidence, mut quiet, mut table) = (false, true, true, false, None);
    let (mut content_type, mut has_body, mut varies, mut load) =
        ("text/plain".to_owned(), false, false, vec![url.clone()]);
    for (name, value) in &given {
        let mut pass = |flag: &str, value: String| load.extend([flag.to_owned(), value]);
        match *name {
            "-n" => requests = count(TOOL, name, value)?,
            "-c" => connections = count(TOOL, name, value)?,
            "-t" => {
                seconds = Some(count(TOOL, name, value)?);
                requests = 50_000;
            }
            "-s" => timeout = count(TOOL, name, value)?,
            "-k" => keepalive = true,
            "-m" => pass("-X", value.clone()),
            "-i" => pass("-X", "HEAD".to_owned()),
            "-p" | "-u" => {
                pass("-X", if *name == "-p" { "POST" } else { "PUT" }.to_owned());
                pass("--body", format!("@{value}"));
                has_body = true;
            }
            "-T" => content_type = value.clone(),
            "-H" => pass("-H", value.clone()),
            "-C" => pass("-H", format!("Cookie: {value}")),
            "-A" => pass("-H", super::basic(value)),
            "-B" => pass("--source", value.clone()),
            "-e" => table = Some(PathBuf::from(value)),
            "-d" => percentiles = false,
            "-S" => confidence = false,
            "-l" => varies = true,
            "-q" => quiet = true,
            _ => {}
        }
    }
    if connections > requests {
        return Err(ArgError::Usage(
            "ab: Cannot use concurrency level greater than total number of requests".to_owned(),
        ));
    }
    super::add_default_headers(&mut load, &[("User-Agent", "ApacheBench/2.3"), ("Accept", "*/*")]);
    let mut pass = |flag: &str, value: String| load.extend([flag.to_owned(), value]);
    if has_body {
        pass("-H", format!("Content-Type: {content_type}"));
    }
    pass("-n", requests.to_string());
    pass("-c", connections.to_string());
    pass("--timeout", format!("{timeout}s"));
    pass("--warmup", "0s".to_owned());
    if let Some(seconds) = seconds {
        pass("-d", format!("{seconds}s"));
    }
    if !keepalive {
        load.push("--no-keepalive".to_owned());
    }
    load.extend(["--http1.0", "--quiet", "--allow-untrusted"].map(str::to_owned));
    super::accept_any_certificate(&mut load, &url);
    let (host, port, path) = address(&url);
    // ab prints progress only beyond 150 requests.
    let quiet = quiet || requests <= 150;
    let options = PageOptions {
        host,
        port,
        path,
        connections,
        keepalive,
        percentiles,
        confidence,
        quiet,
        has_body,
        varies,
        table,
    };
    let head = page::head(&options);
    Ok(Invocation { load, head, on_stderr: false, page: Box::new(move |measured| page::page(&options, measured)) })
}
