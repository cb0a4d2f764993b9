//! `brunt load`: runs the generator once, meters the server, prints and stores the result.
//!
//! Results go to stdout and to files, everything else to stderr. Files that cannot be written are reported before the
//! load starts. This module defines the flags; it computes no figures.

mod absent;
mod beside;
mod calibration;
mod compare;
mod conclude;
mod costed;
mod counts;
mod flags;
mod gone;
mod http;
mod listeners;
mod live;
mod meter;
mod metrics;
mod names;
mod observer;
#[cfg_attr(not(feature = "fleet"), path = "load/on_none.rs")]
mod on;
mod once;
mod options;
mod output;
mod participants;
mod progress;
mod replay;
mod requests;
mod resolve;
mod run;
mod script;
mod server;
mod service;
pub(super) mod session;
mod stages;
mod start;
mod target;
#[cfg_attr(not(feature = "fleet"), path = "load/there_none.rs")]
mod there;
mod tls;
mod ui;
mod wait;
mod words;

pub(super) use costed::{Costed, flag_of_cost, targets as costed};
pub(super) use flags::Described;
#[cfg(feature = "fleet")]
pub(super) use on::{SentScript, collected};
pub(super) use participants::{one_server, placed};
#[cfg(feature = "fleet")]
pub(super) use resolve::resolved_here;
pub(super) use resolve::{MOST_RATE, resolved};
pub(super) use server::ServerFlags;
pub(super) use service::MeteredServer;
#[cfg(feature = "fleet")]
pub(super) use service::ServiceFlags;
pub(super) use words::{check, is_on_agents, measure, metered};

use super::{bounds, ci};
use brunt_results::verdict::Kind;
use brunt_results::{Error, RunResult, Threshold, env::Env};
use brunt_view::{summary, ui::Served};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
    #[command(flatten)]
    spec: flags::Described,
    #[command(flatten)]
    script: script::Scripting,
    #[command(flatten)]
    comparison: compare::Comparison,
    #[command(flatten)]
    counting: counts::CountsFlags,
    #[command(flatten)]
    metrics: metrics::MetricsFlags,

    #[command(flatten)]
    of_results: flags::OfResults,
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
    /// Exit with 99 if one of these bounds is crossed, for example 'p99>5ms,rate<10k' or 'errors>0.1%'; may be repeated.
    /// Fewer failures than a bound on errors or failed are accepted
    #[arg(long, value_name = "BOUNDS", value_parser = bounds::<Threshold>, help_heading = "Result")]
    fail_if: Vec<Vec<Threshold>>,
    /// Doubts that do not make the exit status 3: too-few-samples, disturbed, not-stationary, rate-missed, delayed-ack, throttled,
    /// client-limited
    #[arg(long, value_name = "KINDS", value_delimiter = ',', help_heading = "Result")]
    allow: Vec<Kind>,
    /// Accept every doubt, but no failures
    #[arg(long, help_heading = "Result")]
    allow_untrusted: bool,
    /// Exit with 0 if there is a result, whatever it says: for programs that read it
    #[arg(long, hide = true)]
    accept_any_result: bool,
    /// Also measure the generator's own maximum rate, after the run, against a null target, and store it: this and
    /// later runs of the same load are judged by it (3 s); with --on that of each agent, for this run alone
    #[arg(long, help_heading = "Result")]
    calibrate: bool,
    #[command(flatten)]
    live: live::LiveFlags,
    #[command(flatten)]
    page: ui::UiFlags,
    /// No progress and no notes on stderr
    #[arg(long, help_heading = "Result")]
    quiet: bool,

    #[command(flatten)]
    server: server::ServerFlags,
    #[command(flatten)]
    on: on::OnFlags,
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
