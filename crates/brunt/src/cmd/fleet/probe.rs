//! `--probe`: a low, steady load of the same requests from a machine that does not make the load, whose times stand beside those of the
//! load. What is asked and answered, and both ends.
//!
//! A generator that is busy adds to the times that it measures; the probe is not, so that a difference is the generators'.

use super::allowed::Allowed;
use super::{failed, secrets};
use crate::cmd::load;
use brunt_fleet::nats::{About, Access, Service, Session, Waiting};
use brunt_load::{Observer, Options};
use brunt_results::result::Probe;
use brunt_results::stages::Range;
use brunt_results::{Count, Error, Rate, RunResult, Span, named};
use brunt_spec::{Arrival, LoadSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
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
        let settings = serde_json::to_value(secrets::names(spec)?).map_err(|error| Error::Failed(error.to_string()))?;
        let session = Session::open(access, agent, NAME, settings, OPEN).map_err(failed)?;
        Ok(Self { session, about: agent.clone(), timeout: options.timeout })
    }

    fn ask(&self, question: &Question, patience: Duration) -> Result<Waiting<'_>, String> {
        let question = serde_json::to_value(question).map_err(|error| error.to_string())?;
        Ok(self.session.begin(question, patience))
    }

    /// The window of the load opens. Does not wait.
    pub fn begin(&self) {
        let _ = self.ask(&Question::Begin, END);
    }

    /// The window has ended: what the probe has seen.
    ///
    /// # Errors
    /// The agent is lost, or its probe failed; one line.
    pub fn end(self) -> Result<Probe, String> {
        let of_agent = |why: String| format!("probe by agent {}: {why}", self.about.id);
        let answer = self.ask(&Question::End, self.timeout + END).and_then(Waiting::wait);
        let seen = answer.and_then(|seen| serde_json::from_value(seen).map_err(|error| error.to_string()));
        let (agent, name) = (self.about.id.clone(), self.about.host.clone());
        seen.map(|seen: Probe| Probe { agent, name, ..seen }).map_err(of_agent)
    }
}

/// Prepares a probe on this machine.
///
/// # Errors
/// It is not allowed, or reads a file.
pub(super) fn open(settings: Value, allowed: &Allowed, directory: Option<&Path>) -> Result<Box<dyn Service>, String> {
    let spec: LoadSpec = serde_json::from_value(settings).map_err(|error| error.to_string())?;
    let spec = secrets::own(spec, directory)?;
    // No file of this machine is read but secrets.
    let options = named::copied(BTreeMap::new(), || load::resolved_here(&spec, false))?;
    allowed.check(&options, 1.0)?;
    Ok(Box::new(Probing { options, stop: Arc::default(), thread: None }))
}

struct Probing {
    options: Options,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Probe, String>>>,
}

struct UntilStopped(Arc<AtomicBool>);

impl Observer for UntilStopped {
    fn wants_stop(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Probing {
    fn begin(&mut self) -> Result<Value, String> {
        let (options, mut observer) = (self.options.clone(), UntilStopped(Arc::clone(&self.stop)));
        let work = move || {
            let report = brunt_load::run(&options, &mut observer).map_err(|error| error.to_string())?;
            Ok(seen(&report.result))
        };
        let thread = thread::Builder::new().name("probe".to_owned()).spawn(work);
        self.thread = Some(thread.map_err(|error| format!("no thread for the probe: {error}"))?);
        Ok(Value::Null)
    }

    fn end(&mut self) -> Result<Probe, String> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().ok_or("it has not begun")?;
        thread.join().map_err(|_| "its load panicked".to_owned())?
    }
}

impl Drop for Probing {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl Service for Probing {
    fn ask(&mut self, question: Value) -> Result<Value, String> {
        match serde_json::from_value(question).map_err(|error| error.to_string())? {
            Question::Begin if self.thread.is_none() => self.begin(),
            Question::Begin => Err("it has begun".to_owned()),
            Question::End => self.end().and_then(|seen| serde_json::to_value(seen).map_err(|error| error.to_string())),
        }
    }
}

fn seen(result: &RunResult) -> Probe {
    let response = &result.latency.response;
    Probe {
        rate: result.requests.offered_rate.unwrap_or_default(),
        connections: result.load.connections,
        completed: result.requests.completed,
        failed: result.requests.failed,
        p50_us: response.p50_us,
        p99_us: response.p99_us,
        max_us: response.max_us,
        lag_p99_us: result.latency.lag.p99_us,
        ..Probe::default()
    }
}
