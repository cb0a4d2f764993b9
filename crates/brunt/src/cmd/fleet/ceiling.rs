//! `--calibrate` with `--on`: the highest rate of each agent, on null servers of their machines and all at once, as they made the load.
//! What is asked and answered, and both ends.

use super::allowed::Allowed;
use super::{failed, generator, secrets};
use crate::cmd::load;
use brunt_fleet::nats::{About, Access, Service, Session};
use brunt_load::Options;
use brunt_results::named;
use brunt_spec::LoadSpec;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Of the service.
pub(super) const NAME: &str = "ceiling";
const OPEN: Duration = Duration::from_secs(15);
/// Three seconds on an idle machine.
const MEASURE: Duration = Duration::from_secs(30);

/// The part of an agent in a load.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Settings {
    spec: LoadSpec,
    /// Threads of the whole load, and the range of those of the agent.
    threads: usize,
    first: usize,
    end: usize,
    /// Bytes of a reply's body, over HTTP.
    body: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Question {
    Measure,
}

/// The rates of the agents, each of which makes so many threads of the load that is described as for them; one line for each that has none.
pub(in crate::cmd) fn of_all(
    access: &Access,
    agents: &[About],
    threads: usize,
    spec: &LoadSpec,
    body: u64,
) -> Vec<Result<f64, String>> {
    let measured = |number: usize| {
        let (first, end) = (number * threads, (number + 1) * threads);
        let settings = Settings { spec: spec.clone(), threads: threads * agents.len(), first, end, body };
        let session = Session::open(access, &agents[number], NAME, &settings, OPEN);
        session.map_err(|error| failed(error).to_string())
    };
    let sessions: Vec<Result<Session, String>> = (0..agents.len()).map(measured).collect();
    let ask = |(session, agent): (&Result<Session, String>, &About)| {
        let rate = session.as_ref().map_err(Clone::clone)?.ask(&Question::Measure, MEASURE);
        rate.map_err(|why| format!("agent {}: {why}", agent.id))
    };
    thread::scope(|scope| {
        let asked = sessions.iter().zip(agents).map(|of| scope.spawn(move || ask(of)));
        let asked: Vec<_> = asked.collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("it does not panic");
        asked.into_iter().map(join).collect()
    })
}

struct Ceiling {
    options: Options,
    body: u64,
}

/// Prepares the part of this machine.
///
/// # Errors
/// It is not allowed, or reads a file.
pub(super) fn open(settings: Value, allowed: &Allowed, directory: Option<&Path>) -> Result<Box<dyn Service>, String> {
    let Settings { spec, threads, first, end, body } =
        serde_json::from_value(settings).map_err(|error| error.to_string())?;
    let spec = secrets::own(spec, directory)?;
    // No file of this machine is read but secrets.
    let options = named::copied(BTreeMap::new(), || load::resolved_here(&spec, false))?;
    let own = options.threads.clone();
    let options = generator::part_of(options, threads, first..end, allowed)?;
    let connections = options.connections_of(first..end);
    Ok(Box::new(Ceiling { options: Options { threads: own, connections, ..options }, body }))
}

impl Service for Ceiling {
    fn ask(&mut self, question: Value) -> Result<Value, String> {
        let Question::Measure = serde_json::from_value(question).map_err(|error| error.to_string())?;
        let rate = brunt_load::calibrate::ceiling(&self.options, &[], self.body);
        rate.map(Value::from).map_err(|error| error.to_string())
    }
}
