//! The agents of a load while it goes on, for `agents.json` and for the lines of progress.

use brunt_load::remote::Figures;
use brunt_results::agents::{self, AgentNow};
use brunt_results::directory::Directory;
use brunt_view::progress::Progress;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Between two writings of the file, at least.
const EVERY: Duration = Duration::from_millis(100);

/// Copies are of the same load.
#[derive(Debug, Clone)]
pub(super) struct Now(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    agents: Vec<AgentNow>,
    directory: Option<Directory>,
    written: Option<Instant>,
}

impl Now {
    /// Of these agents; what is known is written to the directory, if there is one.
    pub fn new(ids: &[String], directory: Option<&Path>) -> Self {
        let agents = ids.iter().map(|id| AgentNow { id: id.clone(), ..AgentNow::default() }).collect();
        let state = State { agents, directory: directory.map(Directory::open), written: None };
        let now = Self(Arc::new(Mutex::new(state)));
        now.lock().write();
        now
    }

    pub fn arrived(&self, agent: &str, second: u64) {
        self.change(agent, false, |agent| agent.seconds = agent.seconds.max(second + 1));
    }

    pub fn measured(&self, agent: &str, figures: &Figures) {
        self.change(agent, false, |agent| {
            agent.completed = figures.completed;
            (agent.p50_us, agent.p99_us) = (figures.p50_us, figures.p99_us);
            agent.thread_cpu_percent = figures.thread_cpu_percent;
        });
    }

    pub fn late(&self, agents: &[&str]) {
        let mut state = self.lock();
        let mut is_new = false;
        for agent in &mut state.agents {
            let is_late = agents.contains(&agent.id.as_str());
            is_new |= std::mem::replace(&mut agent.is_late, is_late) != is_late;
        }
        if is_new {
            state.write();
        }
    }

    pub fn lost(&self, agent: &str, why: &str) {
        self.change(agent, true, |agent| agent.lost = Some(why.to_owned()));
    }

    fn change(&self, id: &str, is_urgent: bool, change: impl FnOnce(&mut AgentNow)) {
        let mut state = self.lock();
        if let Some(agent) = state.agents.iter_mut().find(|agent| agent.id == id) {
            change(agent);
        }
        if is_urgent || state.written.is_none_or(|written| written.elapsed() >= EVERY) {
            state.write();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the observer of a load sees of its agents.
#[derive(Debug)]
pub(in super::super) struct Watched {
    now: Now,
    /// Which are late or lost, as was told.
    told: RefCell<BTreeSet<String>>,
}

impl Watched {
    pub(super) fn new(now: Now) -> Self {
        Self { now, told: RefCell::default() }
    }

    /// Tells of each that is late or lost, once.
    pub fn look(&self, progress: &Progress) -> Vec<AgentNow> {
        let (agents, mut told) = (self.now.lock().agents.clone(), self.told.borrow_mut());
        for concern in agents::concerns(&agents) {
            // Once late and once lost.
            let which = concern.split('(').next().unwrap_or_default().to_owned();
            if told.insert(which) {
                progress.line(&format!("agent {concern}"));
            }
        }
        agents
    }
}

impl State {
    /// A directory that cannot be written fails the load with its other files.
    fn write(&mut self) {
        self.directory.iter().for_each(|directory| _ = directory.write_agents(&self.agents));
        self.written = Some(Instant::now());
    }
}

/// The result has what is known.
impl Drop for State {
    fn drop(&mut self) {
        self.directory.iter().for_each(Directory::remove_agents);
    }
}
