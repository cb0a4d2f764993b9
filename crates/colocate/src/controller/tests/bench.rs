//! A controller in given time: its coordinator, its source of counts and its guardian, with the group of the jobs as a state.

use crate::allotment::{Allotment, Bounds};
use crate::clock::given::Given;
use crate::controller::coordinator::{Action, Coordinator, HEARTBEAT};
use crate::guardian::Watch;
use crate::plan::Plan;
use crate::policy::{Decision, Reason};
use crate::readings::Readings;
use crate::signals::requests::Source;
use brunt_results::counts::Counts;
use std::collections::VecDeque;
use std::time::Duration;

pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Growth is by 0.1 cores.
pub const BOUNDS: Bounds = Bounds::new(0.05, 2.05);

/// A plan whose service has at most 1 % of its requests slower than 6 ms.
pub fn plan(policy: &str, keys: &str) -> Plan {
    let text = format!(
        "policy = \"{policy}\"\n{keys}\n[service]\npid = 1\nslo = \"p99<6ms\"\npeak = \"20k\"\n\
         [source]\nfile = \"counts\"\n[[job]]\ncommand = [\"true\"]\n"
    );
    Plan::parse("plan.toml", &text).unwrap()
}

/// A window that ends then, at 10,000 requests a second.
pub fn window(end: Duration, length: Duration, slow_percent: u64) -> Counts {
    let count = u64::try_from(length.as_millis()).unwrap() * 10;
    Counts {
        end: Some(end.as_secs_f64()),
        seconds: length.as_secs_f64(),
        count,
        slow: count * slow_percent / 100,
        latency_ms: if slow_percent > 1 { 10.0 } else { 2.0 },
        ..Counts::default()
    }
}

/// A step of the controller.
#[derive(Debug, Clone)]
pub struct Step {
    pub at: Duration,
    pub readings: Readings,
    pub decision: Decision,
    pub actions: Vec<Action>,
}

pub struct Bench {
    pub time: Given,
    pub coordinator: Coordinator,
    source: Source,
    watch: Watch,
    /// The group of the jobs: what it may use, or frozen.
    pub group: Allotment,
    /// What the controller has put into effect.
    applied: Allotment,
    /// How long processes of the group take to stop.
    pub stopping: Duration,
    freezing_until: Option<Duration>,
    /// Counts that are to come, each with its time.
    pub counts: VecDeque<(Duration, Counts)>,
    has_new_counts: bool,
    /// Times, in order, in which the controller does not run: from, and up to.
    pub pauses: Vec<(Duration, Duration)>,
    /// What is read of the machine at a time.
    pub machine: fn(Duration) -> Readings,
    pub steps: Vec<Step>,
    /// When the guardian has frozen the group, and when it heard of the controller again.
    pub frozen_by_guardian: Vec<Duration>,
    pub back: Vec<Duration>,
}

impl Bench {
    pub fn new(plan: &Plan) -> Self {
        let time = Given::begin();
        Self {
            coordinator: Coordinator::new(plan, BOUNDS, time.at(Duration::ZERO)),
            source: Source::fed(plan.service.peak.map(|peak| peak.0)),
            watch: Watch::new(HEARTBEAT),
            group: Allotment::cores(BOUNDS.floor),
            applied: Allotment::cores(BOUNDS.floor),
            stopping: Duration::ZERO,
            freezing_until: None,
            counts: VecDeque::new(),
            has_new_counts: false,
            pauses: Vec::new(),
            machine: |_| Readings::default(),
            steps: Vec::new(),
            frozen_by_guardian: Vec::new(),
            back: Vec::new(),
            time,
        }
    }

    /// The same, in which every request fails within the limit.
    pub fn feed_failing(&mut self, from: Duration, until: Duration) {
        let before = self.counts.len();
        self.feed(from, until, 100);
        self.counts.range_mut(before..).for_each(|(_, counts)| counts.failed = counts.slow);
    }

    /// Windows of a tenth of a second that end from 50 ms after `from` on, and before `until`.
    pub fn feed(&mut self, from: Duration, until: Duration, slow_percent: u64) {
        let mut end = from + ms(50);
        while end < until {
            self.counts.push_back((end, window(end, ms(100), slow_percent)));
            end += ms(100);
        }
    }

    /// Lets all that is due before `end` happen.
    pub fn run(&mut self, end: Duration) {
        loop {
            let guardian = self.watch.wake().map(|at| at - self.time.at(Duration::ZERO));
            let counts = self.counts.front().map(|(at, _)| self.unpaused(*at));
            let step = self.next_step();
            let next = [guardian, counts, Some(step)].into_iter().flatten().min().unwrap_or(end);
            if next >= end {
                return self.time.set(end);
            }
            self.time.set(next);
            // At the same time the guardian is first.
            if guardian == Some(next) {
                self.guard();
            } else if counts == Some(next) {
                let (_, counts) = self.counts.pop_front().unwrap();
                self.source.add(counts);
                self.has_new_counts = true;
            } else {
                self.step();
            }
        }
    }

    /// When the controller, and the threads of its process, run at this time or later.
    fn unpaused(&self, at: Duration) -> Duration {
        self.pauses.iter().fold(at, |at, (from, to)| if (*from..*to).contains(&at) { *to } else { at })
    }

    fn next_step(&self) -> Duration {
        if self.steps.is_empty() {
            return Duration::ZERO;
        }
        let wake = self.coordinator.wake();
        let [earliest, latest] = [wake.earliest, wake.latest].map(|at| at - self.time.at(Duration::ZERO));
        self.unpaused(if self.has_new_counts { earliest.max(self.time.time()).min(latest) } else { latest })
    }

    fn guard(&mut self) {
        let now = self.time.time();
        if self.watch.is_late(self.time.at(now)) {
            self.group = Allotment::FROZEN;
            if self.watch.frozen() {
                self.frozen_by_guardian.push(now);
            }
        }
    }

    fn step(&mut self) {
        let at = self.time.time();
        let now = self.time.at(at);
        self.has_new_counts = false;
        let readings = Readings { requests: self.source.poll(now), ..(self.machine)(at) };
        let actions = self.coordinator.step(now, readings);
        let (decision, _) = self.coordinator.last().unwrap();
        self.steps.push(Step { at, readings, decision, actions: actions.clone() });
        actions.into_iter().for_each(|action| self.act(action));
    }

    fn act(&mut self, action: Action) {
        let at = self.time.time();
        match action {
            Action::Beat => {
                if self.watch.beat(self.time.at(at)) {
                    self.back.push(at);
                }
            }
            Action::Apply(allotment) => {
                (self.group, self.applied) = (allotment, allotment);
                let until = allotment.is_frozen().then(|| *self.freezing_until.get_or_insert(at + self.stopping));
                self.freezing_until = until;
                self.coordinator.applied(until.is_some_and(|until| at < until));
            }
            Action::Jobs { frozen } => assert_eq!(frozen, self.applied.is_frozen(), "jobs at {at:?}"),
            Action::BeginFigures => self.coordinator.figures_begun(self.time.at(at)),
            Action::Log(_) | Action::WriteStatus | Action::Recapture => {}
        }
    }

    /// The decisions that differ from the one before: milliseconds, reason, cores.
    pub fn decisions(&self) -> Vec<(u64, Reason, f64)> {
        let mut last = None;
        let mut changes = Vec::new();
        for Step { at, decision, .. } in &self.steps {
            if last.replace(*decision) != Some(*decision) {
                let cores = (decision.allotment.cores * 1e6).round() / 1e6;
                changes.push((u64::try_from(at.as_millis()).unwrap(), decision.reason, cores));
            }
        }
        changes
    }

    /// Milliseconds of the steps with such an action.
    pub fn times(&self, is: fn(&Action) -> bool) -> Vec<u64> {
        let steps = self.steps.iter().filter(|step| step.actions.iter().any(is));
        steps.map(|step| u64::try_from(step.at.as_millis()).unwrap()).collect()
    }
}
