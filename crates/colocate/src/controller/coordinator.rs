//! What a controller does and when, as a function of the time and of what was read: no clock, no input, no output.
//!
//! Invariants:
//! - The actions of a step are in the order in which they are to be done: a heartbeat tells the guardian to leave the group
//!   alone before an allotment may thaw it, and jobs are limited or frozen before another one is started.
//! - From one step to the next it is at least [`TICK`] and at most [`LONGEST_TICK`].

use super::tally::Tally;
use crate::allotment::{Allotment, Bounds};
use crate::audit::Record;
use crate::plan::Plan;
use crate::policy::limits::Known;
use crate::policy::{Decision, Policy, Reason};
use crate::readings::{Kinds, Readings};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Least and most time between two steps: there is one whenever counts of requests come.
pub(super) const TICK: Duration = Duration::from_millis(20);
pub(super) const LONGEST_TICK: Duration = Duration::from_millis(100);

/// Time between two heartbeats that the guardian expects.
pub(super) const HEARTBEAT: Duration = Duration::from_millis(100);
/// Least time between two that are sent: steps are up to a period apart.
const BEAT: Duration = Duration::from_millis(50);

/// After a step that late, the guardian may have frozen the group.
const LATE: Duration = Duration::from_millis(200);
/// Time between two writings of what `brunt colocate status` prints.
const STATUS: Duration = Duration::from_secs(1);
/// Time between two checks that the limits are as they were set, and that no process is outside its group: this reads all
/// processes of the machine.
const CHECK: Duration = Duration::from_secs(3);

/// After the longest time that a job has between SIGTERM and SIGKILL, for so long the end of a run waits for the jobs to end; and the
/// time between two looks.
const END: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(2);

#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a step has one record among a few actions, and they are done at once")]
pub(super) enum Action {
    /// Tells the guardian that this process lives.
    Beat,
    /// Puts the allotment into effect; [`Coordinator::applied`] is told whether it is.
    Apply(Allotment),
    /// Follows the jobs, and starts some while they are not frozen.
    Jobs {
        frozen: bool,
    },
    Log(Record),
    /// Lets the figures begin; if that can be done, [`Coordinator::figures_begun`] is told so.
    BeginFigures,
    WriteStatus,
    /// Brings processes that have left their groups back.
    Recapture,
}

/// When the next step is due: at the first counts that come from `earliest` on, at the latest at `latest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wake {
    pub(super) earliest: Instant,
    pub(super) latest: Instant,
}

#[derive(Debug)]
pub(super) struct Coordinator {
    begin: Instant,
    policy: Box<dyn Policy>,
    tally: Tally,
    last: Option<(Instant, Decision, Readings)>,
    /// When the figures of the summary begin, until they have begun.
    figures_begin: Option<Instant>,
    next_beat: Instant,
    next_check: Instant,
    next_status: Instant,
    /// Whether some process has yet to stop.
    is_freezing: bool,
    /// Whether an operator has paused the jobs.
    is_paused: bool,
    decisions: BTreeMap<Reason, u64>,
}

impl Coordinator {
    pub(super) fn new(plan: &Plan, bounds: Bounds, now: Instant) -> Self {
        Self {
            begin: now,
            policy: plan.policy.policy(plan.service.slo, bounds),
            tally: Tally::new(plan, now),
            last: None,
            figures_begin: plan.warmup.map(|warmup| now + warmup.0),
            next_beat: now,
            next_check: now,
            next_status: now,
            is_freezing: false,
            is_paused: false,
            decisions: BTreeMap::new(),
        }
    }

    /// Decides, and says what is to be done now.
    pub(super) fn step(&mut self, now: Instant, readings: Readings) -> Vec<Action> {
        let since = now.duration_since(self.begin);
        let decided = self.policy.decide(since, &readings);
        let paused = Decision { allotment: Allotment::FROZEN, reason: Reason::Paused };
        let decision = if self.is_paused { paused } else { decided };
        let mut actions = Vec::with_capacity(7);
        actions.extend(is_due(&mut self.next_beat, now, BEAT).then_some(Action::Beat));
        actions.extend(self.is_to_be_applied(decision, now).then_some(Action::Apply(decision.allotment)));
        actions.push(Action::Jobs { frozen: decision.allotment.is_frozen() });
        actions.push(Action::Log(Record { now: since.as_secs_f64(), readings, decision }));
        actions.extend(self.figures_begin.is_some_and(|begin| now >= begin).then_some(Action::BeginFigures));
        actions.extend(is_due(&mut self.next_status, now, STATUS).then_some(Action::WriteStatus));
        actions.extend(is_due(&mut self.next_check, now, CHECK).then_some(Action::Recapture));
        self.tally.add(now, &readings, decision);
        *self.decisions.entry(decision.reason).or_default() += 1;
        self.last = Some((now, decision, readings));
        actions
    }

    /// Where the allotment has changed, or where the guardian or another program may have changed the limits.
    fn is_to_be_applied(&self, decision: Decision, now: Instant) -> bool {
        let is_same = self.last.is_some_and(|(before, last, _)| {
            last.allotment == decision.allotment && now.duration_since(before) < LATE && now < self.next_check
        });
        !is_same || self.is_freezing
    }

    /// The allotment is in effect, or some process has yet to stop.
    pub(super) fn applied(&mut self, is_freezing: bool) {
        self.is_freezing = is_freezing;
    }

    /// What was counted before does not count.
    pub(super) fn figures_begun(&mut self, now: Instant) {
        self.figures_begin = None;
        self.tally.restart(now);
    }

    /// After a step.
    pub(super) fn wake(&self) -> Wake {
        let last = self.last.map_or(self.begin, |(last, ..)| last);
        let latest = if self.is_freezing { TICK } else { LONGEST_TICK };
        Wake { earliest: last + TICK, latest: last + latest }
    }

    /// Decision and readings of the last step.
    pub(super) fn last(&self) -> Option<(Decision, Readings)> {
        self.last.map(|(_, decision, readings)| (decision, readings))
    }

    /// From the begin to the last step.
    pub(super) fn time(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |(last, ..)| last.duration_since(self.begin))
    }

    /// What the policy has learned, as of the last step.
    pub(super) fn limits(&self) -> Vec<(Kinds, Known)> {
        self.policy.limits(self.time())
    }

    /// Counts by reason.
    pub(super) fn decisions(&self) -> &BTreeMap<Reason, u64> {
        &self.decisions
    }

    /// The policy goes on deciding meanwhile, from what it then sees.
    pub(super) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// The policy learns anew.
    pub(super) fn forget_limits(&mut self) {
        self.policy.forget();
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Begins the end of the run, for which all jobs are told to end.
    pub(super) fn closing(&self, now: Instant, term_grace: Duration) -> Closing {
        Closing { until: now + term_grace + END, next_beat: self.next_beat, next_status: self.next_status }
    }

    pub(super) fn into_tally(self) -> Tally {
        self.tally
    }
}

/// The end of a run: the jobs end while the guardian still hears of this process.
#[derive(Debug)]
pub(super) struct Closing {
    until: Instant,
    next_beat: Instant,
    next_status: Instant,
}

impl Closing {
    /// Time that jobs still have.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.until.saturating_duration_since(now + END)
    }

    /// They have been killed.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.until = self.until.min(now + END);
    }

    /// What is to be done now, and when to come again; `None` when the jobs have ended, or have not and are waited for no longer.
    pub(super) fn step(&mut self, now: Instant, is_idle: bool) -> Option<(Vec<Action>, Instant)> {
        if is_idle || now >= self.until {
            return None;
        }
        let beat = is_due(&mut self.next_beat, now, BEAT).then_some(Action::Beat);
        let status = is_due(&mut self.next_status, now, STATUS).then_some(Action::WriteStatus);
        let jobs = Action::Jobs { frozen: false };
        Some((beat.into_iter().chain(status).chain([jobs]).collect(), now + LOOK))
    }
}

/// Whether it is time, and if so, when it is next.
fn is_due(next: &mut Instant, now: Instant, every: Duration) -> bool {
    let is_due = now >= *next;
    if is_due {
        *next = now + every;
    }
    is_due
}
