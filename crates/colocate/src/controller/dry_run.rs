//! What a policy would give the jobs of a plan, from what the service does without them: nothing of the machine is changed.

use super::{bounds, here, requests, service::Service};
use crate::cgroup::Group;
use crate::clock;
use crate::plan::Plan;
use crate::policy::{Policy, Reason};
use crate::readings::{Newest, Readings};
use crate::signals::{self, Machine, requests::Source};
use brunt_meter::cgroup::Linux;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time between two decisions.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct DryRun {
    begin: Instant,
    policy: Box<dyn Policy>,
    source: Source,
    machine: Machine,
    service: Service,
    last: Option<(Instant, f64, Reason)>,
    newest: Newest,
    found: Found,
}

/// What it has found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Found {
    pub seconds: f64,
    pub ceiling: f64,
    /// Mean of the allotment, in cores.
    pub cores: f64,
    /// Part of the time for each reason.
    pub reasons: BTreeMap<Reason, f64>,
    pub requests: u64,
    pub slow: u64,
    /// Of the last second, by the source.
    pub latency_ms: Option<f64>,
    pub service_cores: Option<f64>,
}

impl DryRun {
    /// [`super::check_here`] has passed. `out` is for the output of a service that is started; nothing else is written there.
    pub fn open(brunt: &Path, plan: &Plan, out: &Path) -> io::Result<Self> {
        let count = here::cores(plan).map_err(io::Error::other)?.len();
        let (ceiling, bounds) = (count as f64, bounds(plan, count));
        let mut service = Service::open(&plan.service, out)?;
        let (objective, peak) = (plan.service.slo, plan.service.peak.map(|rate| rate.0));
        let named = |error: io::Error| io::Error::new(error.kind(), format!("[source] {error}"));
        let source = Source::start(&requests::from(&plan.source)?, objective, peak, brunt).map_err(named)?;
        // Without directories nothing of the jobs is measured: there are none.
        let none = Group::of(Arc::new(Linux), Vec::new());
        let machine = Machine::open(service.take()?, &none, signals::Options::default());
        Ok(Self {
            begin: clock::now(),
            policy: plan.policy.policy(objective, bounds),
            source,
            machine,
            service,
            last: None,
            newest: Newest::default(),
            found: Found { ceiling, ..Found::default() },
        })
    }

    /// Decides once; why it is over, if it is.
    pub fn tick(&mut self, now: Instant) -> Option<String> {
        let readings = Readings { requests: self.source.poll(now), be_cpu: None, ..self.machine.read(now) };
        let since = now.duration_since(self.begin);
        let decision = self.policy.decide(since, &readings);
        self.source.want_more(decision.wants_evidence());
        if let Some((before, cores, reason)) = self.last.replace((now, decision.allotment.cores, decision.reason)) {
            let time = now.duration_since(before).as_secs_f64();
            self.found.cores += cores * time;
            *self.found.reasons.entry(reason).or_default() += time;
            self.found.seconds += time;
        }
        if let Some(requests) = readings.requests
            && self.newest.end(since.as_secs_f64(), &requests).is_some()
        {
            self.found.requests += requests.value.count;
            self.found.slow += requests.value.slow;
            self.found.latency_ms = Some(requests.value.latency_ms);
        }
        self.service.ended().or_else(|| self.source.ended(now))
    }

    pub fn wait(&self) {
        clock::sleep(Duration::from_millis(20));
        self.source.wait(TICK - Duration::from_millis(20));
    }

    pub fn found(&self) -> Found {
        let time = self.found.seconds.max(f64::MIN_POSITIVE);
        Found {
            cores: self.found.cores / time,
            reasons: self.found.reasons.iter().map(|(reason, seconds)| (*reason, seconds / time)).collect(),
            service_cores: self.machine.totals().service_cores,
            ..self.found.clone()
        }
    }
}
