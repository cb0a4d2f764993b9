//! Runs experiments. Events are the only interface between the runner and what shows its progress.

pub(crate) mod build;
pub mod endpoint;
pub mod experiment;
pub mod hosted;
mod nginx;
pub mod preflight;
pub(crate) mod single;
mod sliced;
mod tester_window;
pub mod trial;

use crate::plan::hosts;
use crate::{
    plan::{Plan, Target, tester::BRUNT},
    schedule::Cell,
    slices::Generator,
    testers::Tester,
};
use endpoint::Endpoint;
use preflight::normal;
use std::path::{Path, PathBuf};
use std::{rc::Rc, time::Duration};
use trial::TrialStatus;

#[derive(Debug, Clone)]
pub struct Request {
    pub plan: Plan,
    pub plan_text: String,
    /// The folder that the plan's paths are relative to.
    pub base: PathBuf,
    pub out: PathBuf,
    /// Remove what an earlier run left there.
    pub fresh: bool,
    /// Makes the load where the plan names no external tester.
    pub tester: Tester,
    /// Makes the load of slices; without it all plans run by trials.
    pub generator: Option<Rc<dyn Generator>>,
    /// The binary whose `serve` is a target.
    pub brunt: PathBuf,
    /// File of the fleet whose agents are the plan's hosts; `None` is the usual one.
    pub fleet: Option<PathBuf>,
    /// The command line as typed.
    pub command: Vec<String>,
}

impl Request {
    /// Program and arguments of the tester of a cell, with the words that the plan adds; the error is one line.
    pub(crate) fn tester_command(
        &self,
        cell: &Cell,
        target: &Endpoint,
        seed: u64,
        dir: &Path,
    ) -> Result<(PathBuf, Vec<String>), String> {
        let mut cell = cell.clone();
        for file in [&mut cell.settings.request_file, &mut cell.settings.replay].into_iter().flatten() {
            *file = normal(&self.base.join(&*file)).display().to_string();
        }
        let added = self.plan.testers.get(cell.settings.tester.as_deref().unwrap_or(BRUNT));
        let mut added = added.cloned().unwrap_or_default();
        if cell.settings.external_tester().is_none() {
            // So that it keeps the figures that they are about.
            let target_of = |target: &&Target| target.name == cell.target;
            added.extend(
                self.plan.targets.iter().find(target_of).map(|target| target.service.words()).unwrap_or_default(),
            );
            added.extend(self.plan.fail_if.iter().flat_map(|bound| ["--fail-if".to_owned(), bound.clone()]));
            added.extend(self.fleet_words(target));
        }
        self.tester.command(&cell, &added, target, seed, dir)
    }

    /// What `brunt load` is told of the fleet: agents that make the load, and one that meters a target on its machine.
    fn fleet_words(&self, target: &Endpoint) -> Vec<String> {
        let on = self.plan.hosts.get(hosts::LOAD).map(|agents| ["--on".to_owned(), agents.clone()]);
        let meter = target.agent.as_ref().map(|agent| ["--meter".to_owned(), agent.clone()]);
        let words: Vec<String> = on.into_iter().chain(meter).flatten().collect();
        if words.is_empty() { words } else { words.into_iter().chain(self.fleet_file()).collect() }
    }

    /// The flag that names the fleet.
    pub(crate) fn fleet_file(&self) -> impl Iterator<Item = String> {
        let file = self.fleet.as_ref().map(|file| ["--fleet".to_owned(), file.display().to_string()]);
        file.into_iter().flatten()
    }

    /// Whether the targets of a load take turns by slices.
    pub fn is_sliced(&self) -> bool {
        self.generator.is_some() && self.plan.is_sliced()
    }
}

/// Receives events on the thread that runs the experiment; must return quickly.
pub trait Observer {
    fn on_event(&mut self, event: &Event<'_>);
}

/// Ignores all events.
impl Observer for () {
    fn on_event(&mut self, _: &Event<'_>) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn on_event(&mut self, event: &Event<'_>) {
        self.0.on_event(event);
        self.1.on_event(event);
    }
}

/// Which trial of how many, and how much time is left.
#[derive(Debug, Clone, Copy)]
pub struct TrialProgress<'a> {
    /// Counted from 1, trials of an earlier invocation included.
    pub number: usize,
    pub total: usize,
    pub cell: &'a Cell,
    /// Counted from 1.
    pub repeat: u32,
    /// Whether all targets of the cell's load run at once.
    pub by_slices: bool,
    /// Estimated time left for the experiment, including this trial if it is not over.
    pub left: Duration,
}

#[derive(Debug)]
pub enum Event<'a> {
    /// Number of process groups left by a killed run that were killed.
    OrphansKilled(usize),
    Building {
        target: &'a str,
        command: String,
    },
    /// The target's trials will be recorded as failed.
    BuildFailed {
        target: &'a str,
        why: &'a str,
    },
    TrialStarted(TrialProgress<'a>),
    /// Sent a few times a second.
    TrialRunning {
        trial: TrialProgress<'a>,
        activity: &'a str,
    },
    TrialFinished {
        trial: TrialProgress<'a>,
        status: &'a TrialStatus,
        took: Duration,
    },
}
