//! `brunt as ab`: ApacheBench's flags. HTTP/1.0 with a connection per request unless `-k`, as in ab.

pub(super) mod page;

use super::argv::{Flag, Given, Syntax, flag, same};
use super::{ArgError, Invocation};

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
    url: String,
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
    let options = PageOptions { given, url, requests, connections, has_body };
    let head = page::head(&options);
    Ok(Invocation { load, head, on_stderr: false, page: Box::new(move |measured| page::page(&options, measured)) })
}
