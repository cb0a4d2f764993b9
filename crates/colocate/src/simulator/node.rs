//! One machine with its service, its jobs and their controller, second by second.

use super::job::{Job, Turns};
use super::load::Load;
use super::plant::{Plant, Step};
use super::scenario::Scenario;
use super::source::Source;
use super::trouble::{TICK, Trouble};
use crate::allotment::Allotment;
use crate::audit::Record;
use crate::objective::Objective;
use crate::policy::{Decision, Policy};
use crate::readings::{Kinds, Readings};
use serde::Serialize;
use std::time::Duration;

const TICKS_A_SECOND: u64 = 50;

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
        objective.is_missed(self.slow, self.requests)
    }
}

#[derive(Debug)]
pub struct Node {
    plant: Plant,
    source: Source,
    policy: Box<dyn Policy>,
    idle_class: bool,
    load: Load,
    jobs: (Job, Option<Turns>),
    trouble: Trouble,
    /// Seconds by which its load is ahead.
    ahead: f64,
    last: Option<Decision>,
    pub decisions: Decisions,
}

/// Counts of decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Decisions {
    pub emergencies: u64,
    pub frozen_seconds: f64,
    /// Changes of the allotment.
    pub changes: u64,
}

impl Node {
    pub fn new(scenario: &Scenario, ahead: f64) -> Self {
        let Scenario { machine, service, objective, job, load, trouble, seed, .. } = *scenario;
        let peak = scenario.knows_load.then_some(service.peak_rate);
        Self {
            plant: Plant::new(machine, service, job, objective.limit_ms, seed),
            source: Source::new(objective, peak, scenario.missing, seed ^ 0x5eed),
            policy: scenario.policy.policy(objective, scenario.bounds()),
            idle_class: scenario.policy.idle_class(),
            load,
            jobs: (job, scenario.turns),
            trouble,
            ahead,
            last: None,
            decisions: Decisions::default(),
        }
    }

    /// Lets the jobs of this moment run; their kind as the controller sees it.
    fn turn(&mut self, seconds: f64) -> Kinds {
        let (job, Some(turns)) = self.jobs else { return Kinds::default() };
        let is_other = turns.is_other(seconds);
        self.plant.run(if is_other { turns.other } else { job });
        Kinds::default().with(usize::from(is_other && !turns.is_one_kind))
    }

    /// The second that begins so many seconds after the start, with jobs that can use so many cores.
    pub fn second(&mut self, second: u64, jobs: f64, audit: &mut dyn FnMut(&Record)) -> Second {
        let mut sum = Second::default();
        for tick in 0..TICKS_A_SECOND {
            let now = Duration::from_secs(second) + TICK * tick as u32;
            let kinds = self.turn(now.as_secs_f64());
            let readings = Readings { kinds, ..self.source.readings(now.as_secs_f64()) };
            let decision = self.policy.decide(now, &readings);
            audit(&Record { now: now.as_secs_f64(), readings, decision });
            self.decisions.count(self.last, decision);
            self.last = Some(decision);
            let seconds = now.as_secs_f64();
            let moment = self.trouble.at(seconds);
            let load = self.load.at(seconds + self.ahead) + moment.load;
            let used = Allotment { cores: decision.allotment.cores.min(jobs), ..decision.allotment };
            let mut step = self.plant.step(TICK.as_secs_f64(), load, used, (self.idle_class, moment.slowdown));
            if moment.stalled > 0.0 {
                step = step.of_stall(moment.stalled);
            }
            if moment.is_down {
                step = step.of_no_service(self.trouble.refuses);
            }
            self.source.add((now + TICK).as_secs_f64(), TICK.as_secs_f64(), &step, moment.is_silent);
            sum.add(&step, decision.allotment, load);
        }
        sum
    }
}

impl Decisions {
    fn count(&mut self, last: Option<Decision>, decision: Decision) {
        self.changes += u64::from(last.is_some_and(|last| last.allotment != decision.allotment));
        self.emergencies += u64::from(decision.begins_emergency(last));
        if decision.allotment.is_frozen() {
            self.frozen_seconds += TICK.as_secs_f64();
        }
    }
}

impl Second {
    fn add(&mut self, step: &Step, allotment: Allotment, load: f64) {
        self.requests += step.arrivals;
        self.slow += step.slow;
        self.cores += allotment.cores / TICKS_A_SECOND as f64;
        self.lc_cores += step.lc_cores / TICKS_A_SECOND as f64;
        self.be_work += step.be_work;
        self.load += load / TICKS_A_SECOND as f64;
    }
}
