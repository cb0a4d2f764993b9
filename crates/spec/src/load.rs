//! Settings of loads of any protocol.

use crate::row;
use crate::setting::{Heading, Setting};
use crate::value::{Written, utf8, words};
use brunt_results::{Count, Span};
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

words! {
    /// The kernel interface of the load threads.
    Backend { Uring = "uring", Epoll = "epoll" }
}

words! {
    /// The arrival process of an open loop.
    Arrival {
        Constant = "constant",
        /// Exponential gaps, as of independent users.
        Poisson = "poisson",
    }
}

/// Value of `--requests`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountOrFile {
    Count(Count),
    File(PathBuf),
}

impl Written for CountOrFile {
    fn read(text: &OsStr) -> Result<Self, String> {
        let count = text.to_str().and_then(|text| text.parse().ok());
        Ok(count.map_or_else(|| Self::File(text.into()), Self::Count))
    }

    fn text(&self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// How many times as fast as recorded: `2`, `2x`, `0.5`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factor(pub f64);

impl FromStr for Factor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('x').unwrap_or(text).parse().ok();
        let valid = number.filter(|factor| (0.001..=1e6).contains(factor));
        valid
            .map(Self)
            .ok_or_else(|| format!("'{text}' is no factor from 0.001 to 1000000: 2 is twice as fast, 0.5 half"))
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Written for Factor {
    fn read(text: &OsStr) -> Result<Self, String> {
        utf8(text)?.parse()
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

const TIMEOUT: Span = Span(Duration::from_secs(2));

impl crate::LoadSpec {
    /// Time within which a request must have a complete reply.
    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT).0
    }
}

/// Those before the settings that the generator takes as they are.
pub(crate) const BEFORE: &[Setting] = &[
    row!(connections)
        .short('c')
        .long("connections")
        .help(
            "N",
            "Connections over all threads; 10:200 rises in a straight line over the window of a closed loop \
             [default: 10, or one per thread if there are more threads]",
        )
        .first_field("Connections", "100"),
    row!(connections_per_core)
        .long("connections-per-core")
        .help("N", "Connections per load thread, instead of -c"),
    row!(threads)
        .short('t')
        .long("threads")
        .help(
            "N",
            "Load threads, not pinned without --cores, else as many on each core [default: 1, or one per core of --cores]",
        )
        .field("Load threads", "1"),
    row!(cores)
        .long("cores")
        .help("LIST", "Cores for the load threads, one pinned thread per core without -t: 0,2-3")
        .field("Cores of the load threads", "0,2-3"),
    row!(backend)
        .long("backend")
        .help("NAME", "Kernel interface of the load threads [default: uring if available, else epoll]"),
    Setting {
        short_alias: Some('z'),
        ..row!(duration)
            .short('d')
            .long("duration")
            .help("TIME", "Length of the measured window [default: 10s; unlimited if only -n is given]")
            .first_field("Duration", "10s")
    },
    row!(requests).short('n').help("N", "Send this many requests; the window ends when each is answered or has failed"),
    Setting {
        short_alias: Some('q'),
        alias: Some("qps"),
        ..row!(rate)
            .short('R')
            .long("rate")
            .help(
                "RATE",
                "Open loop: requests per second over all connections; 1k:50k rises in a straight line over the window",
            )
            .first_field("Requests per second", "as many as are answered")
    },
    row!(stages).long("stages").separated().help(
        "RATE@TIME,..",
        "Rates one after another, each with its time, instead of -R and -d: 1k@30s,1k:5k@1m. In a closed loop connections, \
         instead of -c and -d: c=10@30s,c=10:200@1m",
    ),
    row!(rate_per_core).long("rate-per-core").help("RATE", "Open loop: requests per second per load thread"),
    row!(arrival)
        .long("arrival")
        .help(
            "PROCESS",
            "Arrival process of an open loop: constant gaps, or random gaps as from independent users [default: constant]",
        )
        .field("Arrivals of an open loop", ""),
    row!(size)
        .long("size")
        .help("SIZE", "Message size for tcp:// [default: 100B]")
        .field("Message size, for tcp://", "100B"),
    Setting {
        default: Some("2s"),
        ..row!(timeout)
            .short('T')
            .long("timeout")
            .help("TIME", "Time after which a request without a complete reply counts as failed")
            .field("Time limit of a request", "2s")
    },
    row!(warmup)
        .long("warmup")
        .help("TIME", "Load before the measured window [default: 1s, at most a fifth of the duration; none with -n]")
        .field("Warm-up", "1s"),
    row!(steady)
        .long("steady")
        .help(
            "",
            "End the warm-up as soon as rate and median are steady and every connection of a closed loop has had its turn; \
             --warmup is then the longest [default: 60s]",
        )
        .field("End the warm-up when rate and median are steady", ""),
    row!(connect_rate)
        .long("connect-rate")
        .help("RATE", "Connections opened per second [default: as fast as the target accepts]"),
    row!(source).long("source").help(
        "LIST",
        "Local addresses to connect from, in turn: 127.0.0.2, 127.0.0.2-127.0.0.9 or 127.0.0.0/8 [default: chosen by the \
         kernel]",
    ),
    row!(seed)
        .long("seed")
        .help("N", "Seed of all random choices [default: from the clock; recorded in the result]"),
];

pub(crate) const AFTER: &[Setting] = &[
    row!(replay).long("replay").help(
        "FILE",
        "Open loop: the requests of this access log (common or combined format, or JSON lines) at the times of the log, \
         instead of -R and -d",
    ),
    row!(speed)
        .long("speed")
        .help("FACTOR", "With --replay: times as fast as the log, for example 2 or 0.5 [default: 1]")
        .requires("replay"),
    row!(no_keepalive)
        .long("no-keepalive")
        .help("", "New connection for each request: same as --reuse 1")
        .field("A connection for each request", ""),
    row!(reuse).long("reuse").help(
        "N",
        "Requests per connection, which is then closed and replaced; the next request waits for that [default: no limit]",
    ),
];

/// What is kept of the load.
pub(crate) const RESULT: &[Setting] = &[row!(percentiles)
    .long("percentiles")
    .separated()
    .under(Heading::Result)
    .help("LIST", "Percentiles to print and to store, instead of 50,90,95,99,99.9 and beside them: 50,97.5,99.99")];
