//! One simulation: a policy holds a load for a time.

use super::job::Job;
use super::load::Load;
use super::node::{Decisions, Node};
use super::plant::{Machine, Service};
use crate::allotment::Bounds;
use crate::audit::Record;
use crate::objective::Objective;
use crate::policy::choice::Choice;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scenario {
    pub machine: Machine,
    pub service: Service,
    pub objective: Objective,
    pub job: Job,
    pub load: Load,
    pub seconds: u64,
    pub policy: Choice,
    /// Share of the reports about the service that get lost.
    pub missing: f64,
    pub seed: u64,
}

impl Scenario {
    pub fn bounds(&self) -> Bounds {
        Bounds::new(0.05, self.machine.cores)
    }
}

/// Shares are 0 to 1.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    pub policy: String,
    pub seconds: u64,
    /// Seconds in which more requests were slow than the objective allows.
    pub bad_seconds: u64,
    pub requests: u64,
    pub slow: u64,
    /// Work of the BE jobs, relative to what they do alone on the machine.
    pub be_rate: f64,
    /// Load of the service in the mean, of its peak, plus `be_rate`: effective machine utilisation.
    pub emu: f64,
    pub emergencies: u64,
    pub frozen_seconds: f64,
    /// Changes of the allotment.
    pub changes: u64,
    /// Each second.
    #[serde(skip)]
    pub series: Vec<Second>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Second {
    pub requests: u64,
    pub slow: u64,
    pub cores: f64,
    pub lc_cores: f64,
    pub be_work: f64,
    pub load: f64,
}

impl Second {
    pub fn is_bad(self, objective: Objective) -> bool {
        self.slow as f64 > objective.budget() * self.requests as f64
    }
}

/// Simulates, and gives each tick to `audit`.
pub fn simulate(scenario: &Scenario, mut audit: impl FnMut(&Record)) -> Outcome {
    let mut node = Node::new(scenario, 0.0);
    let series = (0..scenario.seconds).map(|second| node.second(second, f64::INFINITY, &mut audit)).collect();
    let Decisions { emergencies, frozen_seconds, changes } = node.decisions;
    let mut outcome = Outcome {
        policy: scenario.policy.to_string(),
        seconds: scenario.seconds,
        emergencies,
        frozen_seconds,
        changes,
        series,
        ..Outcome::default()
    };
    outcome.finish(scenario.objective, alone(scenario));
    outcome
}

/// Work a second of the BE jobs on the whole machine.
fn alone(scenario: &Scenario) -> f64 {
    let cores = scenario.machine.cores;
    cores / (cores * scenario.job.memory_bandwidth).max(1.0)
}

impl Outcome {
    fn finish(&mut self, objective: Objective, alone: f64) {
        self.bad_seconds = self.series.iter().filter(|second| second.is_bad(objective)).count() as u64;
        self.requests = self.series.iter().map(|second| second.requests).sum();
        self.slow = self.series.iter().map(|second| second.slow).sum();
        let time = self.seconds.max(1) as f64;
        self.be_rate = self.series.iter().map(|second| second.be_work).sum::<f64>() / time / alone;
        self.emu = self.be_rate + self.series.iter().map(|second| second.load).sum::<f64>() / time;
    }

    /// Bad seconds, as a share.
    pub fn bad_share(&self) -> f64 {
        self.bad_seconds as f64 / self.seconds.max(1) as f64
    }
}

#[cfg(test)]
mod tests;
