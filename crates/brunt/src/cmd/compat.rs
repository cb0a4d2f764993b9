//! `brunt as wrk|ab|fortio ...`: another tool's command line and output format on brunt's generator.
//!
//! Scripts that call these tools and parse their output keep working. Each tool is a translation of its flags into
//! those of `brunt load` and a page computed from the result. Unsupported flags are rejected by name. The verdict is
//! one line on stderr.

mod ab;
mod argv;
mod fortio;
mod go_format;
mod spread;
#[cfg(test)]
mod tests;
mod wrk;

use super::{load, stdout};
use brunt_results::{Error, ExitCode, RunResult, hlog, series::Second};
use hdrhistogram::Histogram;
use std::io::{self, Write as _};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    // Everything after the tool's name belongs to the tool; its --help is answered here.
    disable_help_flag = true,
    disable_version_flag = true,
    override_usage = "brunt as <wrk|ab|fortio> [FLAGS OF THAT TOOL] URL"
)]
pub struct Args {
    /// The tool and its own command line
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// A parsed command line of another tool.
struct Invocation {
    load: Vec<String>,
    /// Text printed before the load.
    head: String,
    /// Prints text to stderr: fortio keeps stdout for JSON.
    on_stderr: bool,
    page: Box<dyn FnOnce(&Measurement) -> Page>,
}

/// Input of a result page.
struct Measurement<'a> {
    result: &'a RunResult,
    seconds: &'a [Second],
    /// Response time (done - intended), in nanoseconds.
    response: Histogram<u64>,
    /// Service time (done - sent), in nanoseconds.
    service: Histogram<u64>,
}

/// Output of a tool.
#[derive(Default)]
struct Page {
    text: String,
    /// Files to write; `-` is stdout.
    files: Vec<(PathBuf, String)>,
}

enum ArgError {
    Help(String),
    Usage(String),
}

const HELP: &str = "Runs a command line of wrk (or wrk2, with -R), ab or fortio on brunt's generator and prints the
result in that tool's format; the verdict on the result goes to stderr.

Usage: brunt as wrk -t2 -c100 -d30s --latency http://127.0.0.1:8080/
       brunt as ab -k -c100 -n1000000 http://127.0.0.1:8080/
       brunt as fortio load -c 100 -qps 10000 -t 30s http://127.0.0.1:8080/
       brunt as <wrk|ab|fortio> --help    the supported flags

Exit status: 0 good, 1 the load failed, 2 wrong usage, or an unsupported flag.
";

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let invocation = match self.parse() {
            Ok(invocation) => invocation,
            Err(ArgError::Help(text)) => return Ok(stdout::print(&text).map(|()| ExitCode::Good)?),
            Err(ArgError::Usage(why)) => return Err(Error::Usage(why)),
        };
        let print = |text: &str| if invocation.on_stderr { eprint(text) } else { stdout::print(text) };
        print(&invocation.head)?;
        let measured = load::measure(&invocation.load)?;
        let distribution = |tag| hlog::distribution(&measured.hlog, tag).map_err(Error::Failed);
        let page = (invocation.page)(&Measurement {
            result: &measured.result,
            seconds: &measured.seconds,
            response: distribution("response")?,
            service: distribution("service")?,
        });
        print(&page.text)?;
        for (path, text) in &page.files {
            match path.as_os_str() == "-" {
                true => stdout::print(text)?,
                false => stdout::write_file(path, text)?,
            }
        }
        measured.call_script_done().map_err(Error::Failed)?;
        eprint(&format!("{}\n", verdict(&measured.result)))?;
        Ok(ExitCode::Good)
    }

    fn parse(&self) -> Result<Invocation, ArgError> {
        let missing = "no tool is given: add wrk, wrk2, ab or fortio, then that tool's flags";
        let (tool, words) = self.words.split_first().ok_or_else(|| ArgError::Usage(missing.to_owned()))?;
        match tool.as_str() {
            "wrk" | "wrk2" => wrk::parse(words),
            "ab" => ab::parse(words),
            "fortio" => fortio::parse(words),
            "-h" | "--help" => Err(ArgError::Help(HELP.to_owned())),
            other => Err(ArgError::Usage(format!("brunt as '{other}': known are wrk, wrk2, ab and fortio"))),
        }
    }
}

/// Prints to stderr; a closed pipe is not an error.
fn eprint(text: &str) -> io::Result<()> {
    let _ = io::stderr().write_all(text.as_bytes());
    Ok(())
}

/// The verdict in one line, with its most serious reason.
fn verdict(result: &RunResult) -> String {
    let verdict = &result.verdict;
    let ended = if result.interrupted { " (interrupted)" } else { "" };
    let mut line = format!("brunt: verdict {}{ended}", verdict.kind.word());
    if let (Some(why), Some(remedy)) = (verdict.why.first(), verdict.remedy.first()) {
        line += &format!(": {why}; {remedy}");
    }
    if verdict.why.len() > 1 {
        line += &format!(" (and {} more: see brunt load)", verdict.why.len() - 1);
    }
    line
}

/// Adds the headers that a tool sends by default, unless given on the command line.
fn add_default_headers(load: &mut Vec<String>, fields: &[(&str, &str)]) {
    for (name, value) in fields {
        let is_it = |field: &String| field.split(':').next().is_some_and(|given| given.eq_ignore_ascii_case(name));
        if !load.windows(2).any(|words| words[0] == "-H" && is_it(&words[1])) {
            load.extend(["-H".to_owned(), format!("{name}: {value}")]);
        }
    }
}

/// Disables certificate checks, as these tools do.
fn accept_any_certificate(load: &mut Vec<String>, url: &str) {
    if url.starts_with("https://") {
        load.push("--insecure".to_owned());
    }
}

/// Host, port and path of a URL, as these tools print them.
fn address(url: &str) -> (String, String, String) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (authority, if url.starts_with("https://") { "443" } else { "80" }),
    };
    (host.trim_matches(['[', ']']).to_owned(), port.to_owned(), path.to_owned())
}
