//! The rule of PARTIES (Chen, Delimitrou and Martinez, ASPLOS 2019) for one service and its best-effort jobs, with cores as the only
//! resource: the slack of the latency decides, a step at a time, and a step that was too much is taken back and rested after. The
//! authors' program looks every 100 ms and judges after five looks; it uses an old latency again where there is no newer one, which
//! this one does not.

use super::{Decision, Policy, Reason, staleness};
use crate::allotment::{Allotment, Bounds};
use crate::objective::Objective;
use crate::readings::Readings;
use std::time::Duration;

/// Slack of the latency below which jobs get less, and above which they get more.
const LESS: f64 = 0.05;
const MORE: f64 = 0.2;
/// Between two steps, and after one that was taken back.
const JUDGED: Duration = Duration::from_millis(500);
const REST: Duration = Duration::from_secs(10);
/// A step, of all cores of the jobs.
const STEP: f64 = 0.1;

#[derive(Debug, Clone)]
pub struct Parties {
    objective: Objective,
    bounds: Bounds,
    cores: f64,
    next: Duration,
    /// Whether the last step gave jobs more.
    has_grown: bool,
    reason: Reason,
}

impl Parties {
    pub fn new(objective: Objective, bounds: Bounds) -> Self {
        let (cores, next) = (bounds.floor, Duration::ZERO);
        Self { objective, bounds, cores, next, has_grown: false, reason: Reason::Hold }
    }

    /// Changes the cores by a step, if that is possible.
    fn step(&mut self, now: Duration, slack: f64) {
        let Bounds { floor, ceiling, .. } = self.bounds;
        let step = STEP * ceiling;
        let is_taken_back = slack < LESS && std::mem::take(&mut self.has_grown);
        self.next = now + if is_taken_back { REST } else { JUDGED };
        (self.cores, self.reason) = match () {
            () if slack < LESS => ((self.cores - step).max(floor), Reason::Shrink),
            () if slack <= MORE => (self.cores, Reason::Hold),
            () if self.cores >= ceiling => (ceiling, Reason::Ceiling),
            () => {
                self.has_grown = true;
                ((self.cores + step).min(ceiling), Reason::Grow)
            }
        };
    }
}

impl Policy for Parties {
    fn decide(&mut self, now: Duration, readings: &Readings) -> Decision {
        if let Some(reason) = staleness(now, readings, self.bounds.deadline) {
            (self.cores, self.has_grown) = (self.bounds.floor, false);
            let allotment = if reason == Reason::Lost { Allotment::FROZEN } else { Allotment::cores(self.cores) };
            return Decision { allotment, reason };
        }
        if let Some(requests) = readings.requests.filter(|_| now >= self.next) {
            self.step(now, self.objective.slack(requests.value.latency_ms));
        }
        Decision { allotment: Allotment::cores(self.cores), reason: self.reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::{Reading, Requests};

    #[test]
    fn it_goes_by_steps_and_rests_after_one_that_was_too_much() {
        let objective = Objective { quantile: 0.99, limit_ms: 10.0 };
        let mut policy = Parties::new(objective, Bounds::new(0.1, 2.0));
        let mut at = |ms: u64, latency_ms: f64| {
            let requests = Requests { seconds: 0.1, count: 100, latency_ms, ..Requests::default() };
            let requests = Some(Reading { value: requests, age: 0.0 });
            let decision = policy.decide(Duration::from_millis(ms), &Readings { requests, ..Readings::default() });
            ((decision.allotment.cores * 10.0).round() / 10.0, decision.reason)
        };
        assert_eq!(at(0, 5.0), (0.3, Reason::Grow));
        assert_eq!(at(400, 5.0), (0.3, Reason::Grow));
        assert_eq!(at(500, 5.0), (0.5, Reason::Grow));
        assert_eq!(at(1_000, 8.5), (0.5, Reason::Hold));
        assert_eq!(at(1_500, 9.9), (0.3, Reason::Shrink));
        // It was the growth: ten seconds of rest.
        assert_eq!(at(11_400, 5.0), (0.3, Reason::Shrink));
        assert_eq!(at(11_500, 5.0), (0.5, Reason::Grow));
    }
}
