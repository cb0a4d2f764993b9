//! Sums of a run, for its summary.

use crate::objective::Objective;
use crate::plan::Plan;
use crate::policy::Decision;
use crate::readings::{Newest, Readings, Requests};
use brunt_results::colocation::{Allotted, Controller, Jobs, Machine, Service, Summary};
use std::time::{Duration, Instant};

/// Means are over at least this time.
const LEAST: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Tally {
    policy: String,
    objective: Objective,
    begin: Instant,
    service: Service,
    allotment: Allotted,
    /// Time that `allotment` covers; its cores are core seconds until the summary.
    covered: Duration,
    last: Option<(Instant, Decision)>,
    newest: Newest,
    /// The second that the last window is in, and its requests.
    second: (u64, u64, u64),
    load: (f64, f64),
}

impl Tally {
    pub(super) fn new(plan: &Plan, begin: Instant) -> Self {
        let objective = plan.service.slo;
        Self {
            policy: plan.policy.to_string(),
            objective,
            begin,
            service: Service { quantile: objective.quantile, limit_ms: objective.limit_ms, ..Service::default() },
            allotment: Allotted::default(),
            covered: Duration::ZERO,
            last: None,
            newest: Newest::default(),
            second: (0, 0, 0),
            load: (0.0, 0.0),
        }
    }

    /// What was counted so far does not count.
    pub(super) fn restart(&mut self, now: Instant) {
        let Service { quantile, limit_ms, .. } = self.service;
        self.service = Service { quantile, limit_ms, ..Service::default() };
        self.allotment = Allotted::default();
        (self.begin, self.covered, self.load) = (now, Duration::ZERO, (0.0, 0.0));
        (self.newest, self.second) = (Newest::default(), (0, 0, 0));
    }

    pub(super) fn add(&mut self, now: Instant, readings: &Readings, decision: Decision) {
        self.decision(now, decision);
        if let Some(reading) = readings.requests {
            let now = now.duration_since(self.begin).as_secs_f64();
            if let Some(end) = self.newest.end(now, &reading) {
                // Not those from before the begin.
                if end - reading.value.seconds / 2.0 >= 0.0 {
                    self.requests(end, reading.value);
                }
            }
        }
    }

    fn decision(&mut self, now: Instant, decision: Decision) {
        let allotted = &mut self.allotment;
        let last = self.last.replace((now, decision));
        allotted.emergencies += u64::from(decision.begins_emergency(last.map(|(_, last)| last)));
        let Some((before, last)) = last else { return };
        let time = now.duration_since(before);
        self.covered += time;
        allotted.cores += last.allotment.cores * time.as_secs_f64();
        if last.allotment.is_frozen() {
            allotted.frozen_seconds += time.as_secs_f64();
        }
        allotted.changes += u64::from(last.allotment != decision.allotment);
    }

    fn requests(&mut self, end: f64, requests: Requests) {
        self.service.requests += requests.count;
        self.service.slow += requests.slow;
        if let Some(load) = requests.load {
            self.load = (self.load.0 + load * requests.seconds, self.load.1 + requests.seconds);
        }
        // A window that began in the second before counts there where most of it lies.
        let second = (end - requests.seconds / 2.0) as u64;
        if second != self.second.0 {
            self.close_second();
            self.second = (second, 0, 0);
        }
        self.second.1 += requests.count;
        self.second.2 += requests.slow;
    }

    fn close_second(&mut self) {
        let (_, count, slow) = self.second;
        if count > 0 {
            self.service.seconds += 1;
            self.service.bad_seconds += u64::from(self.objective.is_missed(slow, count));
        }
    }

    /// Requests so far, and those of them that were slow.
    pub(super) fn seen(&self) -> (u64, u64) {
        (self.service.requests, self.service.slow)
    }

    /// Share of slow requests so far.
    pub(super) fn slow_share(&self) -> Option<f64> {
        (self.service.requests > 0).then(|| self.service.slow as f64 / self.service.requests as f64)
    }

    /// A last second that has not ended does not count.
    pub(super) fn summary(mut self, jobs: Jobs, machine: Machine, controller: Controller) -> Summary {
        let seen = self.last.map_or(0.0, |(at, _)| at.duration_since(self.begin).as_secs_f64());
        if seen >= (self.second.0 + 1) as f64 {
            self.close_second();
        }
        let time = self.covered.max(LEAST).as_secs_f64();
        self.allotment.cores /= time;
        self.service.load = (self.load.1 > 0.0).then(|| self.load.0 / self.load.1);
        Summary {
            policy: self.policy,
            seconds: time,
            service: self.service,
            jobs,
            allotment: self.allotment,
            machine,
            controller,
        }
    }
}
