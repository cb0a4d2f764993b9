//! `--metrics` and `--push`: the figures of each second for monitoring systems, while the load runs.

use brunt_load::Options;
use brunt_results::Error;
use brunt_view::metrics::{Collector, Listen, Sinks};
use std::io::{self, Write as _};
use std::time::Duration;

/// After the load, the time for its last second to be fetched or pushed.
pub(super) const LAST: Duration = Duration::from_secs(2);

const HEADING: &str = "While it runs";

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
    /// Where the seconds of the load go. Says where they are served, unless `quiet`.
    pub(super) fn open(&self, options: &Options, quiet: bool) -> Result<Sinks, Error> {
        let cores: Vec<usize> = options.threads.iter().copied().flatten().collect();
        let sinks = Sinks::open(self.metrics.as_ref(), self.push.as_ref(), &options.url, &cores)?;
        if let Some(address) = sinks.address().filter(|_| !quiet) {
            let _ = writeln!(io::stderr(), "metrics at http://{address}/metrics");
        }
        Ok(sinks)
    }
}
