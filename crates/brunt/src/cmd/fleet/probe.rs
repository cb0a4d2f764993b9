//! `--probe`: a low, steady load of the same requests from a machine that does not make the load, whose times stand beside those of the
//! load. What is asked and answered, and the end of the load.
//!
//! A generator that is busy adds to the times that it measures; the probe is not, so that a difference is the generators'.

pub(super) mod service;

use super::{failed, secrets};
use brunt_fleet::nats::{About, Access, Session};
use brunt_load::Options;
use brunt_results::result::Probe;
use brunt_results::stages::Range;
use brunt_results::{Count, Error, Rate, Span};
use brunt_spec::{Arrival, LoadSpec};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Of the service.
pub(super) const NAME: &str = "probe";
/// Share of the rate of the load, and its bounds in requests a second; the lower one also beside a closed loop.
const SHARE: f64 = 0.01;
const LEAST: f64 = 100.0;
const MOST: f64 = 1000.0;
const CONNECTIONS: u64 = 4;
/// The probe ends by itself so long after the longest load, and after an hour: agents allow no longer load unless told otherwise.
const LONGER: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(3600);
const OPEN: Duration = Duration::from_secs(15);
/// Requests that are under way at the end may take their timeout.
const END: Duration = Duration::from_secs(5);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Question {
    /// The window opens.
    Begin,
    /// It ends. The answer is the probe.
    End,
}

/// The end of the load.
pub(in crate::cmd) struct RemoteProbe {
    session: Session,
    about: About,
    timeout: Duration,
}

impl RemoteProbe {
    /// Prepares the probe of a load; the agent looks its addresses up and sends nothing yet.
    ///
    /// # Errors
    /// The load cannot be probed, or the agent refuses it.
    pub fn prepare(access: &Access, agent: &About, spec: &LoadSpec, options: &Options) -> Result<Self, Error> {
        let rate = options.highest_rate().map_or(LEAST, |rate| (rate * SHARE).clamp(LEAST.min(rate), MOST));
        let connections = Count(CONNECTIONS.min(options.connections as u64));
        let constant = Range { from: Rate(rate), to: Rate(rate) };
        let spec = LoadSpec {
            rate: Some(constant),
            rate_per_core: None,
            arrival: Some(Arrival::Poisson),
            stages: Vec::new(),
            requests: None,
            connections: Some(Range { from: connections, to: connections }),
            connections_per_core: None,
            threads: None,
            cores: None,
            source: None,
            steady: false,
            warmup: Some(Span(Duration::ZERO)),
            duration: Some(Span((options.warmup + options.duration + LONGER).min(LONGEST))),
            seed: Some(options.seed),
            ..spec.clone()
        };
        let session = Session::open(access, agent, NAME, &secrets::names(spec)?, OPEN).map_err(failed)?;
        Ok(Self { session, about: agent.clone(), timeout: options.timeout })
    }

    /// The window of the load opens. Does not wait.
    pub fn begin(&self) {
        let _ = self.session.begin(&Question::Begin, END);
    }

    /// The window has ended: what the probe has seen.
    ///
    /// # Errors
    /// The agent is lost, or its probe failed; one line.
    pub fn end(self) -> Result<Probe, String> {
        let of_agent = |why: String| format!("probe by agent {}: {why}", self.about.id);
        let seen = self.session.ask(&Question::End, self.timeout + END);
        let (agent, name) = (self.about.id.clone(), self.about.host.clone());
        seen.map(|seen: Probe| Probe { agent, name, ..seen }).map_err(of_agent)
    }
}
