//! One simulation: a policy holds a load for a time.

use super::job::Job;
use super::node::{Decisions, Node, Second};
use super::scenario::Scenario;
use crate::audit::Record;
use crate::objective::Objective;
use serde::Serialize;

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

/// Work a second of the BE jobs on the whole machine, in the mean of their turns.
fn alone(scenario: &Scenario) -> f64 {
    let cores = scenario.machine.cores;
    let of = |job: Job| cores / (cores * job.memory_bandwidth).max(1.0);
    let job = of(scenario.job);
    scenario.turns.map_or(job, |turns| (job + of(turns.other)) / 2.0)
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
mod learning;
#[cfg(test)]
mod tests;
