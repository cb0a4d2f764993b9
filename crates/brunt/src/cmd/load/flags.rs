//! The flags of `brunt load`.

use super::{address, compare, counts, http, live, metrics, options, replay, requests, script, tls, ui};
use crate::cmd::ci;
use brunt_results::stages::{ConnectionRange, RateRange, TimedStage};
use brunt_results::verdict::Kind;
use brunt_results::{Cores, Count, Percentile, Rate, Size, Span, Threshold};
use clap::ValueEnum;
use std::path::PathBuf;

/// Heading in the help of the flags that shape the load.
pub(super) const LOAD: &str = "Load";

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
    pub(super) urls: Vec<String>,

    /// Connections over all threads; 10:200 rises in a straight line over the window of a closed loop [default: 10, or one
    /// per thread if there are more threads]
    #[arg(short, long, value_name = "N", help_heading = LOAD)]
    pub(super) connections: Option<ConnectionRange>,
    /// Connections per load thread, instead of -c
    #[arg(long, value_name = "N", help_heading = LOAD)]
    pub(super) connections_per_core: Option<Count>,
    /// Load threads, not pinned without --cores, else as many on each core [default: 1, or one per core of --cores]
    #[arg(short, long, value_name = "N", help_heading = LOAD)]
    pub(super) threads: Option<Count>,
    /// Cores for the load threads, one pinned thread per core without -t: 0,2-3
    #[arg(long, value_name = "LIST", help_heading = LOAD)]
    pub(super) cores: Option<Cores>,
    /// Kernel interface of the load threads [default: uring if available, else epoll]
    #[arg(long, value_enum, value_name = "NAME", help_heading = LOAD)]
    pub(super) backend: Option<options::Backend>,
    /// Length of the measured window [default: 10s; unlimited if only -n is given]
    #[arg(value_parser = Span::or_seconds, short, visible_short_alias = 'z', long, value_name = "TIME", help_heading = LOAD)]
    pub(super) duration: Option<Span>,
    /// Stop after this many replies
    #[arg(short = 'n', value_name = "N", help_heading = LOAD)]
    pub(super) requests: Option<Count>,
    /// Send the requests of this file, in order, round and round: curl command lines, HAR, or vegeta's targets. Without a
    /// URL they go to the hosts of the file. A number is that of -n
    #[arg(long = "requests", value_name = "FILE", help_heading = http::HEADING)]
    pub(super) requests_or_file: Option<requests::CountOrFile>,
    /// Open loop: requests per second over all connections; 1k:50k rises in a straight line over the window
    #[arg(short = 'R', long, visible_short_alias = 'q', visible_alias = "qps", value_name = "RATE",
          help_heading = LOAD)]
    pub(super) rate: Option<RateRange>,
    /// Rates one after another, each with its time, instead of -R and -d: 1k@30s,1k:5k@1m. In a closed loop connections,
    /// instead of -c and -d: c=10@30s,c=10:200@1m
    #[arg(long, value_name = "RATE@TIME,..", value_delimiter = ',', help_heading = LOAD)]
    pub(super) stages: Vec<TimedStage>,
    /// Open loop: requests per second per load thread
    #[arg(long, value_name = "RATE", help_heading = LOAD)]
    pub(super) rate_per_core: Option<Rate>,
    /// Arrival process of an open loop: constant gaps, or random gaps as from independent users [default: constant]
    #[arg(long, value_enum, value_name = "PROCESS", help_heading = LOAD)]
    pub(super) arrival: Option<Arrival>,
    /// Message size for tcp:// [default: 100B]
    #[arg(long, value_name = "SIZE", help_heading = LOAD)]
    pub(super) size: Option<Size>,
    /// Time after which a request without a complete reply counts as failed
    #[arg(value_parser = Span::or_seconds, short = 'T', long, value_name = "TIME", default_value = "2s", help_heading = LOAD)]
    pub(super) timeout: Span,
    /// Load before the measured window [default: 1s, at most a fifth of the duration]
    #[arg(value_parser = Span::or_seconds, long, value_name = "TIME", help_heading = LOAD)]
    pub(super) warmup: Option<Span>,
    /// End the warm-up as soon as rate and median are steady and every connection of a closed loop has had its turn;
    /// --warmup is then the longest [default: 60s]
    #[arg(long, help_heading = LOAD)]
    pub(super) steady: bool,
    /// Connections opened per second [default: as fast as the target accepts]
    #[arg(long, value_name = "RATE", help_heading = LOAD)]
    pub(super) connect_rate: Option<Rate>,
    /// Local addresses to connect from, in turn: 127.0.0.2, 127.0.0.2-127.0.0.9 or 127.0.0.0/8 [default: chosen by
    /// the kernel]
    #[arg(long, value_name = "LIST", help_heading = LOAD)]
    pub(super) source: Option<brunt_load::LocalAddrs>,
    /// Seed of all random choices [default: from the clock; recorded in the result]
    #[arg(long, value_name = "N", help_heading = LOAD)]
    pub(super) seed: Option<u64>,
    /// Count the bytes of tcp:// replies without comparing them
    #[arg(long, help_heading = LOAD)]
    pub(super) no_verify: bool,

    #[command(flatten)]
    pub(super) replaying: replay::Replaying,
    #[command(flatten)]
    pub(super) http: http::Flags,
    #[command(flatten)]
    pub(super) tls: tls::Tls,
    #[command(flatten)]
    pub(super) script: script::Scripting,
    #[command(flatten)]
    pub(super) comparison: compare::Comparison,
    #[command(flatten)]
    pub(super) counting: counts::CountsFlags,
    #[command(flatten)]
    pub(super) metrics: metrics::MetricsFlags,

    /// Percentiles to print and to store, instead of 50,90,95,99,99.9 and beside them: 50,97.5,99.99
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Result")]
    pub(super) percentiles: Vec<Percentile>,
    /// Send one request, and show it, the reply and the time of each step, instead of a load
    #[arg(long, help_heading = "Result", conflicts_with_all =
          ["json", "out", "fail_if", "compare", "latency", "calibrate", "percentiles", "metrics", "push"])]
    pub(super) once: bool,
    /// With --once: show whole bodies
    #[arg(short, long, requires = "once", help_heading = "Result")]
    pub(super) verbose: bool,
    /// Print the response-time percentiles in detail
    #[arg(long, help_heading = "Result")]
    pub(super) latency: bool,
    /// Print five lines: load, rate, response times, cost and verdict
    #[arg(long, help_heading = "Result", conflicts_with_all = ["latency", "once", "compare"])]
    pub(super) short: bool,
    /// Write the result as JSON to a file, or to stdout instead of the text with -
    #[arg(long, value_name = "FILE|-", help_heading = "Result")]
    pub(super) json: Option<PathBuf>,
    #[command(flatten)]
    pub(super) ci: ci::CiFlags,
    /// Write result.json, latency.hlog, series.jsonl and env.json to this directory, replacing existing ones
    #[arg(long, value_name = "DIR", help_heading = "Result")]
    pub(super) out: Option<PathBuf>,
    /// Exit with 99 if this bound is crossed, for example 'p99>5ms', 'rate<10k' or 'errors>0.1%'; may be repeated. Fewer
    /// failures than a bound on errors or failed are accepted
    #[arg(long, value_name = "BOUND", help_heading = "Result")]
    pub(super) fail_if: Vec<Threshold>,
    /// Doubts that do not make the exit status 3: too-few-samples, disturbed, not-stationary, rate-missed, client-limited
    #[arg(long, value_name = "KINDS", value_delimiter = ',', help_heading = "Result")]
    pub(super) allow: Vec<Kind>,
    /// Accept every doubt, but no failures
    #[arg(long, help_heading = "Result")]
    pub(super) allow_untrusted: bool,
    /// Exit with 0 if there is a result, whatever it says: for programs that read it
    #[arg(long, hide = true)]
    pub(super) accept_any_result: bool,
    /// Also measure the generator's own maximum rate, after the run, against a null target, and store it: this and
    /// later runs of the same load are judged by it (3 s)
    #[arg(long, help_heading = "Result")]
    pub(super) calibrate: bool,
    #[command(flatten)]
    pub(super) live: live::LiveFlags,
    #[command(flatten)]
    pub(super) page: ui::UiFlags,
    /// No progress and no notes on stderr
    #[arg(long, help_heading = "Result")]
    pub(super) quiet: bool,

    /// Meter this process and its children [default: the local process that listens on the address]
    #[arg(long, value_name = "PID", help_heading = "Server")]
    pub(super) server_pid: Option<u32>,
    /// Do not meter the server
    #[arg(long, help_heading = "Server")]
    pub(super) no_meter: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arrival {
    Constant,
    Poisson,
}
