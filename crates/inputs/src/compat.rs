//! Command lines and pages of other tools: wrk, ab, fortio.
//!
//! Each tool is a translation of its flags into those of `brunt load` and a page computed from the result. Unsupported flags are
//! rejected by name.

mod ab;
mod argv;
mod fortio;
mod go_format;
mod spread;
#[cfg(test)]
mod tests;
mod wrk;

use crate::address;
use brunt_results::{RunResult, series::Second};
use hdrhistogram::Histogram;
use std::path::PathBuf;

/// A parsed command line of another tool.
pub struct Invocation {
    /// The words of `brunt load`.
    pub load: Vec<String>,
    /// Text printed before the load.
    pub head: String,
    /// Prints text to stderr: fortio keeps stdout for JSON.
    pub on_stderr: bool,
    /// Computes the output of the tool.
    pub page: Box<dyn FnOnce(&Measurement) -> Page>,
}

/// Input of a result page.
pub struct Measurement<'a> {
    /// The result of the load.
    pub result: &'a RunResult,
    /// Its seconds.
    pub seconds: &'a [Second],
    /// Response time (done - intended), in nanoseconds.
    pub response: Histogram<u64>,
    /// Service time (done - sent), in nanoseconds.
    pub service: Histogram<u64>,
}

/// Output of a tool.
#[derive(Default)]
pub struct Page {
    /// Text to print.
    pub text: String,
    /// Files to write; `-` is stdout.
    pub files: Vec<(PathBuf, String)>,
}

/// Why there is no load.
#[derive(Debug)]
pub enum ArgError {
    /// Help was asked for; this is it.
    Help(String),
    /// One line that says what is wrong.
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

/// Reads a command line that begins with the name of the tool.
///
/// # Errors
/// The tool or a flag is unknown, or its help is asked for.
pub fn parse(words: &[String]) -> Result<Invocation, ArgError> {
    let missing = "no tool is given: add wrk, wrk2, ab or fortio, then that tool's flags";
    let (tool, words) = words.split_first().ok_or_else(|| ArgError::Usage(missing.to_owned()))?;
    match tool.as_str() {
        "wrk" | "wrk2" => wrk::parse(words),
        "ab" => ab::parse(words),
        "fortio" => fortio::parse(words),
        "-h" | "--help" => Err(ArgError::Help(HELP.to_owned())),
        other => Err(ArgError::Usage(format!("brunt as '{other}': known are wrk, wrk2, ab and fortio"))),
    }
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
    if address::shown(url).starts_with("https://") {
        load.push("--insecure".to_owned());
    }
}
