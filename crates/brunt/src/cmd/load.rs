//! `brunt load`: runs the generator once, meters the server, prints and stores the result.
//!
//! Results go to stdout and to files, everything else to stderr. Files that cannot be written are reported before the
//! load starts. This module defines the flags; it computes no figures.

mod absent;
mod calibration;
mod compare;
mod conclude;
mod counts;
mod gone;
mod http;
mod listeners;
mod live;
mod metrics;
mod names;
mod observer;
mod once;
mod options;
mod output;
mod progress;
mod replay;
mod requests;
mod run;
mod script;
pub(super) mod session;
mod stages;
mod start;
mod target;
mod tls;
mod ui;
mod words;

pub(super) use words::{check, measure, metered};

use super::ci;
use brunt_inputs::address;
use brunt_results::stages::{ConnectionRange, RateRange, TimedStage};
use brunt_results::verdict::Kind;
use brunt_results::{Cores, Count, Error, Percentile, Rate, RunResult, Size, Span, Threshold, env::Env};
use brunt_view::{summary, ui::Served};
use clap::ValueEnum;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Heading in the help of the flags that shape the load.
const LOAD: &str = "Load";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without -R or --rate-per-core each connection sends its next request when the previous one is answered \
                  (closed loop). At saturation its latency depends only on the number of connections (Little's law). \
                  Ctrl-C ends the run early and prints the results so far.\n\n\
                  Exit status: 0 good; 1 the run failed, or requests failed and no --fail-if bound on errors or failed \
                  accepts them; 2 wrong usage; 3 the result is not trustworthy (see the verdict); 99 a --fail-if bound \
                  was crossed."
)]
pub struct Args {
    #[arg(value_name = "URL", required_unless_present = "requests_or_file", help = format!("Target: {}", address::SCHEMES))]
    urls: Vec<String>,

    /// Connections over all threads; 10:200 rises in a straight line over the window of a closed loop [default: 10, or one
    /// per thread if there are more threads]
    #[arg(short, long, value_name = "N", help_heading = LOAD)]
    connections: Option<ConnectionRange>,
    /// Connections per load thread, instead of -c
    #[arg(long, value_name = "N", help_heading = LOAD)]
    connections_per_core: Option<Count>,
    /// Load threads, not pinned without --cores, else as many on each core [default: 1, or one per core of --cores]
    #[arg(short, long, value_name = "N", help_heading = LOAD)]
    threads: Option<Count>,
    /// Cores for the load threads, one pinned thread per core without -t: 0,2-3
    #[arg(long, value_name = "LIST", help_heading = LOAD)]
    cores: Option<Cores>,
    /// Kernel interface of the load threads [default: uring if available, else epoll]
    #[arg(long, value_enum, value_name = "NAME", help_heading = LOAD)]
    backend: Option<options::Backend>,
    /// Length of the measured window [default: 10s; unlimited if only -n is given]
    #[arg(value_parser = Span::or_seconds, short, visible_short_alias = 'z', long, value_name = "TIME", help_heading = LOAD)]
    duration: Option<Span>,
    /// Stop after this many requests have been answered or have failed
    #[arg(short = 'n', value_name = "N", help_heading = LOAD)]
    requests: Option<Count>,
    /// Send the requests of this file, in order, round and round: curl command lines, HAR, or vegeta's targets. Without a
    /// URL they go to the hosts of the file. A number is that of -n
    #[arg(long = "requests", value_name = "FILE", help_heading = http::HEADING)]
    requests_or_file: Option<requests::CountOrFile>,
    /// Open loop: requests per second over all connections; 1k:50k rises in a straight line over the window
    #[arg(short = 'R', long, visible_short_alias = 'q', visible_alias = "qps", value_name = "RATE",
          help_heading = LOAD)]
    rate: Option<RateRange>,
    /// Rates one after another, each with its time, instead of -R and -d: 1k@30s,1k:5k@1m. In a closed loop connections,
    /// instead of -c and -d: c=10@30s,c=10:200@1m
    #[arg(long, value_name = "RATE@TIME,..", value_delimiter = ',', help_heading = LOAD)]
    stages: Vec<TimedStage>,
    /// Open loop: requests per second per load thread
    #[arg(long, value_name = "RATE", help_heading = LOAD)]
    rate_per_core: Option<Rate>,
    /// Arrival process of an open loop: constant gaps, or random gaps as from independent users [default: constant]
    #[arg(long, value_enum, value_name = "PROCESS", help_heading = LOAD)]
    arrival: Option<Arrival>,
    /// Message size for tcp:// [default: 100B]
    #[arg(long, value_name = "SIZE", help_heading = LOAD)]
    size: Option<Size>,
    /// Time after which a request without a complete reply counts as failed
    #[arg(value_parser = Span::or_seconds, short = 'T', long, value_name = "TIME", default_value = "2s", help_heading = LOAD)]
    timeout: Span,
    /// Load before the measured window [default: 1s, at most a fifth of the duration]
    #[arg(value_parser = Span::or_seconds, long, value_name = "TIME", help_heading = LOAD)]
    warmup: Option<Span>,
    /// End the warm-up as soon as rate and median are steady and every connection of a closed loop has had its turn;
    /// --warmup is then the longest [default: 60s]
    #[arg(long, help_heading = LOAD)]
    steady: bool,
    /// Connections opened per second [default: as fast as the target accepts]
    #[arg(long, value_name = "RATE", help_heading = LOAD)]
    connect_rate: Option<Rate>,
    /// Local addresses to connect from, in turn: 127.0.0.2, 127.0.0.2-127.0.0.9 or 127.0.0.0/8 [default: chosen by
    /// the kernel]
    #[arg(long, value_name = "LIST", help_heading = LOAD)]
    source: Option<brunt_load::LocalAddrs>,
    /// Seed of all random choices [default: from the clock; recorded in the result]
    #[arg(long, value_name = "N", help_heading = LOAD)]
    seed: Option<u64>,
    /// Count the bytes of tcp:// replies without comparing them
    #[arg(long, help_heading = LOAD)]
    no_verify: bool,

    #[command(flatten)]
    replaying: replay::Replaying,
    #[command(flatten)]
    http: http::Flags,
    #[command(flatten)]
    tls: tls::Tls,
    #[command(flatten)]
    script: script::Scripting,
    #[command(flatten)]
    comparison: compare::Comparison,
    #[command(flatten)]
    counting: counts::CountsFlags,
    #[command(flatten)]
    metrics: metrics::MetricsFlags,

    /// Percentiles to print and to store, instead of 50,90,95,99,99.9 and beside them: 50,97.5,99.99
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Result")]
    percentiles: Vec<Percentile>,
    /// Send one request, and show it, the reply and the time of each step, instead of a load
    #[arg(long, help_heading = "Result", conflicts_with_all =
          ["json", "out", "fail_if", "compare", "latency", "calibrate", "percentiles", "metrics", "push"])]
    once: bool,
    /// With --once: show whole bodies
    #[arg(short, long, requires = "once", help_heading = "Result")]
    verbose: bool,
    /// Print the response-time percentiles in detail
    #[arg(long, help_heading = "Result")]
    latency: bool,
    /// Print five lines: load, rate, response times, cost and verdict
    #[arg(long, help_heading = "Result", conflicts_with_all = ["latency", "once", "compare"])]
    short: bool,
    /// Write the result as JSON to a file, or to stdout instead of the text with -
    #[arg(long, value_name = "FILE|-", help_heading = "Result")]
    json: Option<PathBuf>,
    /// Write the result, or the comparison of --compare, as one self-contained HTML page
    #[arg(long, value_name = "FILE", help_heading = "Result", conflicts_with = "once")]
    html: Option<PathBuf>,
    #[command(flatten)]
    ci: ci::CiFlags,
    /// Write result.json, latency.hlog, series.jsonl and env.json to this directory, replacing existing ones
    #[arg(long, value_name = "DIR", help_heading = "Result")]
    out: Option<PathBuf>,
    /// Exit with 99 if this bound is crossed, for example 'p99>5ms', 'rate<10k' or 'errors>0.1%'; may be repeated. Fewer
    /// failures than a bound on errors or failed are accepted
    #[arg(long, value_name = "BOUND", help_heading = "Result")]
    fail_if: Vec<Threshold>,
    /// Doubts that do not make the exit status 3: too-few-samples, disturbed, not-stationary, rate-missed, client-limited
    #[arg(long, value_name = "KINDS", value_delimiter = ',', help_heading = "Result")]
    allow: Vec<Kind>,
    /// Accept every doubt, but no failures
    #[arg(long, help_heading = "Result")]
    allow_untrusted: bool,
    /// Exit with 0 if there is a result, whatever it says: for programs that read it
    #[arg(long, hide = true)]
    accept_any_result: bool,
    /// Also measure the generator's own maximum rate, after the run, against a null target, and store it: this and
    /// later runs of the same load are judged by it (3 s)
    #[arg(long, help_heading = "Result")]
    calibrate: bool,
    #[command(flatten)]
    live: live::LiveFlags,
    #[command(flatten)]
    page: ui::UiFlags,
    /// No progress and no notes on stderr
    #[arg(long, help_heading = "Result")]
    quiet: bool,

    /// Meter this process and its children [default: the local process that listens on the address]
    #[arg(long, value_name = "PID", help_heading = "Server")]
    server_pid: Option<u32>,
    /// Do not meter the server
    #[arg(long, help_heading = "Server")]
    no_meter: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Arrival {
    Constant,
    Poisson,
}

fn usage<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::Usage(message.into()))
}

/// The first of these flags that was given.
fn first_given(flags: &[(&'static str, bool)]) -> Option<&'static str> {
    flags.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
}

/// Result of one load with its context.
pub(super) struct Measured {
    pub(super) result: RunResult,
    env: Env,
    pub(super) hlog: Vec<u8>,
    pub(super) seconds: Vec<brunt_results::series::Second>,
    /// Reason why no server was metered.
    no_server: Option<String>,
    /// Script that made the requests.
    script: Option<brunt_load::script::Wrk>,
    /// Failure to write the series or the calibration; the result itself is valid.
    late_error: Option<io::Error>,
    /// Exit reason of a generator process whose death ended the load.
    lost: Option<String>,
    /// The server exited, and requests failed.
    server_exited: bool,
    /// The page of --ui.
    served: Option<Served>,
    /// Set by Ctrl-C.
    stop: Arc<AtomicBool>,
}

/// Text summary of a stored result.
pub(super) fn page(result: &RunResult, env: &Env) -> String {
    let no_server = result.server.pid.is_none().then(|| env.absent.get("server.cpu_user_percent")).flatten();
    summary::page(&summary::Facts { result, env, no_server: no_server.map(String::as_str), percentiles: &[] })
}
