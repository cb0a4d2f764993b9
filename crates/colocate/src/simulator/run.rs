//! One simulation: a policy holds a load for a time.

use super::job::Job;
use super::load::Load;
use super::plant::{Machine, Plant, Service, Step};
use super::source::Source;
use crate::allotment::{Allotment, Bounds};
use crate::audit::Record;
use crate::objective::Objective;
use crate::policy::choice::Choice;
use crate::policy::{Decision, Reason};
use serde::Serialize;
use std::time::Duration;

/// Period of the controller's ticks, and of the simulated steps.
pub const TICK: Duration = Duration::from_millis(20);

const TICKS_A_SECOND: u64 = 50;

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
        Bounds { floor: 0.05, ceiling: self.machine.cores }
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
    let Scenario { machine, service, objective, job, load, seed, .. } = *scenario;
    let mut plant = Plant::new(machine, service, job, objective.limit_ms, seed);
    let mut source = Source::new(objective, service.peak_rate, scenario.missing, seed ^ 0x5eed);
    let mut policy = scenario.policy.policy(objective, scenario.bounds());
    let mut outcome = Outcome { policy: scenario.policy.to_string(), seconds: scenario.seconds, ..Outcome::default() };
    let mut last: Option<Decision> = None;
    for second in 0..scenario.seconds {
        let mut sum = Second::default();
        for tick in 0..TICKS_A_SECOND {
            let now = Duration::from_secs(second) + TICK * tick as u32;
            let readings = source.readings(now.as_secs_f64());
            let decision = policy.decide(now, &readings);
            audit(&Record { now: now.as_secs_f64(), readings, decision });
            outcome.count(last, decision);
            last = Some(decision);
            let load = load.at(now.as_secs_f64());
            let step = plant.step(TICK.as_secs_f64(), load, decision.allotment, scenario.policy.idle_class());
            source.add((now + TICK).as_secs_f64(), TICK.as_secs_f64(), &step);
            sum.add(&step, decision.allotment, load);
        }
        outcome.series.push(sum);
    }
    outcome.finish(objective, alone(scenario));
    outcome
}

/// Work a second of the BE jobs on the whole machine.
fn alone(scenario: &Scenario) -> f64 {
    let cores = scenario.machine.cores;
    cores / (cores * scenario.job.memory_bandwidth).max(1.0)
}

impl Second {
    fn add(&mut self, step: &Step, allotment: Allotment, load: f64) {
        self.requests += step.arrivals;
        self.slow += step.slow;
        self.cores += allotment.cores / TICKS_A_SECOND as f64;
        self.be_work += step.be_work;
        self.load += load / TICKS_A_SECOND as f64;
    }
}

impl Outcome {
    fn count(&mut self, last: Option<Decision>, decision: Decision) {
        self.changes += u64::from(last.is_some_and(|last| last.allotment != decision.allotment));
        let was = last.is_some_and(|last| last.reason == Reason::Emergency);
        self.emergencies += u64::from(decision.reason == Reason::Emergency && !was);
        if decision.allotment.is_frozen() {
            self.frozen_seconds += TICK.as_secs_f64();
        }
    }

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
