//! `--metrics` and `--push`: the figures of each second for monitoring systems, while the load runs.
//!
//! [`Sinks`] gets the seconds on the thread that coordinates the load, and never waits: it adds to sums that scrapers read, and
//! puts into a bounded queue what is pushed. Threads of their own, on no core of `--cores`, talk to scrapers and collectors.
//!
//! ```text
//! Interval --> Totals --> exposition --> scrape      GET /metrics
//!         `--> queue  --> otlp       --> push        POST /v1/metrics
//! ```

mod endpoint;
mod exposition;
mod figures;
mod interval;
mod otlp;
mod post;
mod push;
mod scrape;
mod timed;

use brunt_load::Options;
use brunt_results::Error;
use brunt_results::series::Second;
use endpoint::{Collector, Listen};
use hdrhistogram::Histogram;
use interval::{Clock, Interval};
use push::Push;
use scrape::Scrape;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

const HEADING: &str = "While it runs";

/// After the load, the time for its last interval to be fetched or pushed.
const LAST: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub(super) struct MetricsFlags {
    /// Serve the figures of the load in Prometheus' format: GET /metrics on HOST:PORT, or on :PORT, which is every address of
    /// this machine
    #[arg(long, value_name = "ADDR", help_heading = HEADING)]
    pub(super) metrics: Option<Listen>,
    /// Push the figures of each second to an OpenTelemetry collector (OTLP over HTTP in JSON): otlp=http://HOST:PORT, or
    /// https://; /v1/metrics unless the URL has a path
    #[arg(long, value_name = "otlp=URL", help_heading = HEADING)]
    pub(super) push: Option<Collector>,
}

impl MetricsFlags {
    /// Listens, and starts the threads. Says where the figures are, unless `quiet`.
    pub(super) fn open(&self, options: &Options, quiet: bool) -> Result<Sinks, Error> {
        let cores: Vec<usize> = options.threads.iter().copied().flatten().collect();
        let scrape = self.metrics.as_ref().map(|listen| Scrape::start(listen, &options.url, &cores)).transpose()?;
        if let Some(scrape) = scrape.as_ref().filter(|_| !quiet) {
            let _ = writeln!(io::stderr(), "metrics at http://{}/metrics", scrape.address);
        }
        let push = self.push.as_ref().map(|collector| Push::start(collector, &options.url, &cores)).transpose()?;
        Ok(Sinks { scrape, push, clock: Clock::default() })
    }
}

/// Where the seconds of a load go besides its files.
#[derive(Debug, Default)]
pub(super) struct Sinks {
    scrape: Option<Scrape>,
    push: Option<Push>,
    clock: Clock,
}

impl Sinks {
    /// The load begins.
    pub(super) fn started(&mut self) {
        self.clock = Clock::default();
    }

    /// Takes the next second of the load and its response times.
    pub(super) fn take(&mut self, second: &Second, response: &Histogram<u64>) {
        if self.scrape.is_none() && self.push.is_none() {
            return;
        }
        let interval = Interval::new(second, response, &mut self.clock);
        self.scrape.iter().for_each(|scrape| scrape.add(&interval));
        self.push.iter_mut().for_each(|push| push.add(interval.clone()));
    }

    /// Waits, for a bounded time, until the last interval is fetched and pushed. Returns what went wrong, a line each.
    pub(super) fn end(self) -> Vec<String> {
        let until = Instant::now() + LAST;
        let pushed = self.push.and_then(|push| push.end(until));
        let scraped = self.scrape.and_then(|scrape| scrape.end(until));
        pushed.into_iter().chain(scraped).collect()
    }
}
