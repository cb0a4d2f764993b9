//! `brunt as wrk`: wrk's flags, and wrk2's where they differ (`-R`, `-U`).

pub(super) mod page;

use super::{
    ArgError, Invocation, Page,
    argv::{Flag, Syntax, count, read, time, url},
};

const FLAGS: &[Flag] = &[
    Flag { name: "-t", also: &["--threads"], value: "N", help: "threads [2]" },
    Flag { name: "-c", also: &["--connections"], value: "N", help: "connections over all threads [10]" },
    Flag { name: "-d", also: &["--duration"], value: "TIME", help: "2s, 2m, 2h; a bare number is seconds [10s]" },
    Flag { name: "-R", also: &["--rate"], value: "N", help: "wrk2: requests per second over all connections" },
    Flag { name: "-s", also: &["--script"], value: "FILE", help: "Lua script" },
    Flag { name: "-H", also: &["--header"], value: "LINE", help: "header of each request" },
    Flag { name: "-L", also: &["--latency"], value: "", help: "print percentiles" },
    Flag { name: "-U", also: &["--u_latency"], value: "", help: "wrk2: print percentiles of the service time too" },
    Flag { name: "-T", also: &["--timeout"], value: "TIME", help: "[2s]" },
];

const TOOL: &str = "wrk";

/// Command-line values shown on the page.
struct PageOptions {
    url: String,
    threads: u64,
    connections: u64,
    seconds: f64,
    /// wrk2 prints a different percentile list.
    has_rate: bool,
    latency: bool,
    uncorrected: bool,
}

pub(super) fn parse(words: &[String]) -> Result<Invocation, ArgError> {
    let mut given = read(TOOL, Syntax::Getopt, FLAGS, words)?;
    // With a script, arguments after the URL belong to its init().
    let for_script = match given.iter().position(|(name, _)| name.is_empty()) {
        Some(url) if given.iter().any(|(name, _)| *name == "-s") => {
            let after = given.split_off(url + 1);
            let (plain, flags): (Vec<_>, Vec<_>) = after.into_iter().partition(|(name, _)| name.is_empty());
            given.extend(flags);
            plain.into_iter().map(|(_, word)| word).collect()
        }
        _ => Vec::new(),
    };
    let url = url(TOOL, &given)?;
    let (mut threads, mut connections, mut duration, mut timeout) = (2, 10, "10s".to_owned(), "2s".to_owned());
    let (mut latency, mut uncorrected, mut has_rate, mut more) = (false, false, false, Vec::new());
    for (name, value) in &given {
        let mut pass = |flag: &str, value: &str| more.extend([flag.to_owned(), value.to_owned()]);
        match *name {
            "-t" => threads = count(TOOL, name, value)?,
            "-c" => connections = count(TOOL, name, value)?,
            "-d" => duration = time(TOOL, name, value)?,
            "-T" => timeout = time(TOOL, name, value)?,
            "-R" => {
                has_rate = true;
                pass("-R", value);
            }
            "-s" => pass("--script", value),
            // wrk's way to request a connection per request.
            "-H" if value.replace(' ', "").eq_ignore_ascii_case("connection:close") => {
                more.push("--no-keepalive".to_owned());
            }
            "-H" => pass("-H", value),
            "-L" => latency = true,
            "-U" => (latency, uncorrected) = (true, true),
            _ => {}
        }
    }
    if connections < threads {
        return Err(ArgError::Usage("number of connections must be >= threads".to_owned()));
    }
    let words = ["-t", &threads.to_string(), "-c", &connections.to_string(), "-d", &duration, "--warmup", "0s"];
    let mut load = vec![url.clone()];
    load.extend(words.iter().map(|word| (*word).to_owned()));
    load.extend(["--timeout", &timeout, "--quiet", "--allow-untrusted"].map(str::to_owned));
    super::accept_any_certificate(&mut load, &url);
    load.extend(more);
    if !for_script.is_empty() {
        load.push("--".to_owned());
        load.extend(for_script);
    }
    let seconds = duration.parse::<brunt_results::Span>().map_or(0.0, |span| span.0.as_secs_f64());
    let options = PageOptions { url, threads, connections, seconds, has_rate, latency, uncorrected };
    let head = page::head(&options);
    let page = move |measured: &super::Measurement| Page { text: page::page(&options, measured), files: Vec::new() };
    Ok(Invocation { load, head, on_stderr: false, page: Box::new(page) })
}
