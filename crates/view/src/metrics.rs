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
mod push;
mod scrape;

pub use endpoint::{Collector, Listen};
pub use scrape::TextPage;

use brunt_results::Error;
use brunt_results::series::Second;
use hdrhistogram::Histogram;
use interval::{Clock, Interval};
use push::Push;
use scrape::Scrape;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Where the seconds of a load go besides its files.
#[derive(Debug, Default)]
pub struct Sinks {
    scrape: Option<Scrape>,
    push: Option<Push>,
    clock: Clock,
}

impl Sinks {
    /// Listens, and starts the threads, on no core of `cores`. `url` names the load in its figures.
    pub fn open(metrics: Option<&Listen>, push: Option<&Collector>, url: &str, cores: &[usize]) -> Result<Self, Error> {
        let scrape = metrics.map(|listen| Scrape::start(listen, url, cores)).transpose()?;
        let push = push.map(|collector| Push::start(collector, url, cores)).transpose()?;
        Ok(Self { scrape, push, clock: Clock::default() })
    }

    /// Where scrapers find the page.
    pub fn address(&self) -> Option<SocketAddr> {
        self.scrape.as_ref().map(Scrape::address)
    }

    /// The load begins.
    pub fn started(&mut self) {
        self.clock = Clock::default();
    }

    /// Takes the next second of the load and its response times.
    pub fn take(&mut self, second: &Second, response: &Histogram<u64>) {
        if self.scrape.is_none() && self.push.is_none() {
            return;
        }
        let interval = Interval::new(second, response, &mut self.clock);
        self.scrape.iter().for_each(|scrape| scrape.add(&interval));
        self.push.iter_mut().for_each(|push| push.add(interval.clone()));
    }

    /// Waits until the last interval is fetched and pushed, for this time at most. Returns what went wrong, in a line.
    pub fn end(self, most: Duration) -> Option<String> {
        let until = Instant::now() + most;
        let pushed = self.push.and_then(|push| push.end(until));
        self.scrape.into_iter().for_each(|scrape| scrape.end(until));
        pushed
    }
}
