//! `--calibrate` with `--on`: the highest rate of each agent, on null servers of their machines and all at once, as they made the load.
//! What is asked and answered, and the end of the load.

pub(super) mod service;

use super::failed;
use brunt_fleet::nats::{About, Access, Session};
use brunt_spec::LoadSpec;
use serde::{Deserialize, Serialize};
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
