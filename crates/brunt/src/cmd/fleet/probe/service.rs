//! The agent's end.

use super::Question;
use crate::cmd::fleet::allowed::Allowed;
use crate::cmd::fleet::secrets;
use crate::cmd::load;
use brunt_fleet::nats::Service;
use brunt_load::{Observer, Options};
use brunt_results::result::Probe;
use brunt_results::{RunResult, named};
use brunt_spec::LoadSpec;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Prepares a probe on this machine.
///
/// # Errors
/// It is not allowed, or reads a file.
pub(in crate::cmd::fleet) fn open(
    settings: Value,
    allowed: &Allowed,
    directory: Option<&Path>,
) -> Result<Box<dyn Service>, String> {
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
