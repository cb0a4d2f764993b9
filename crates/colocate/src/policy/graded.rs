//! The default policy: reacts in grades to the share of slow requests.
//!
//! | share of slow requests, of the objective's budget | BE jobs |
//! |---|---|
//! | above it beyond doubt, and for longer than a pause of the machine | frozen, for half a second and twice as long each time it happens again soon |
//! | above it | shrink by a factor; by a small step where a second has few requests and that may be chance |
//! | below, but not by the margin or not surely | hold |
//! | below by the margin, surely | grow, up to the limit last broken at this load: by a step, and where the latency is far from the objective by up to twice |
//!
//! Where no request comes and the service uses no CPU, no latency can suffer: BE jobs grow each second, up to half of what was too
//! much. Data of the LC service older than the deadline: the floor; older than three deadlines: frozen. Requests that fail at once say
//! nothing of latency: BE jobs are frozen, and no limit is learned. While the machine itself is slow, they neither grow nor learn a
//! limit, because what is slow then is not their doing; while the service waits for cores that others have, or was slow in two windows
//! in which they used nothing, they do not shrink either, nor for stalls that come as often when they have less. What stays slow while
//! they are frozen makes a limit a guess.

mod baseline;
mod freeze;

use super::evidence::{Counts, Window, is_over};
use super::limits::{Known, LimitsByKinds};
use super::{Decision, Policy, Reason, staleness};
use crate::allotment::{Allotment, Bounds};
use crate::objective::Objective;
use crate::readings::{Kinds, Readings, Requests};
use baseline::Baseline;
use freeze::{Cause, Freeze, HOLD, Part};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Standard deviations: an emergency is certain to 99.5 %, a growth to 95 %, each on its side.
const CERTAIN: f64 = 2.576;
const SURE: f64 = 1.645;

/// Requests of this long decide on less; those since the last change decide on more.
const WINDOW: Duration = Duration::from_secs(1);

/// Where a second has too few, those of up to this long: until the objective allows this many slow ones.
const MEMORY: Duration = Duration::from_secs(10);
const ENOUGH: f64 = 1.0;

/// Requests of this long are enough for an emergency.
const BURST: Duration = Duration::from_millis(200);

/// Seconds for which every window is above the budget in an emergency; fewer if so many times the budget is slow, or requests come at so
/// many times the rate of the last second. A pause of the machine or of the load generator, that `lost` does not show, makes one window
/// slow or two, in part; jobs that disturb make many slow.
const LASTING: f64 = 0.25;
const LASTING_IF_HEAVY: f64 = 0.15;
const HEAVY: f64 = 5.0;
const RISES: f64 = 1.5;

/// Sum of the windows above the budget, of the last second, that makes a level known to be too much.
const REPEATED: f64 = 0.25;

/// Seconds for which requests fail before these are no single ones.
const FAILING: f64 = 0.15;

/// Share of the budget below which the share of slow requests must surely be for growth.
const MARGIN: f64 = 0.7;

/// Slack of the latency below which BE jobs do not grow, as in Heracles; and from which it is far from the objective: a growth is
/// certain to 84 % then, and by more than a step, up to twice from the second slack on.
const LEAST_SLACK: f64 = 0.1;
const FAR: f64 = 0.3;
const SURE_IF_FAR: f64 = 1.0;
const TWICE: f64 = 0.5;

/// Seconds without a request after which the service counts as idle.
const QUIET: f64 = 0.9;

/// Slow requests that the objective allows in a second, below which the share of a second is chance: one of thirty may be slow at any
/// level. Above it each second shows whether the objective is met.
const FEW: f64 = 15.0;

/// Factors of a shrink; `HARD` where twice the budget was slow. Where it may be chance, it is by so many steps of growth instead.
const SHRINK: f64 = 0.7;
const HARD: f64 = 0.5;
const STEP_BACK: f64 = 1.5;

/// Part of a broken limit up to which BE jobs grow.
const BELOW_LIMIT: f64 = 0.9;

/// Share of a window that the machine takes from everyone before it counts as slow.
pub const SLOW_MACHINE: f64 = 0.02;

/// Share of the time that the service waits for a core, from which it waits for others, if BE jobs are idle.
const WAITS: f64 = 0.1;
/// Windows in a row in which requests were slow and BE jobs idle, after which they have no part in it.
const BLAMELESS: u32 = 2;
/// After this long without any job, the queue that they left is gone.
const DRAINED: Duration = Duration::from_millis(500);
/// For so long after a shrink jobs grow to what they had by small steps.
const CAREFUL: Duration = Duration::from_secs(300);
/// For so long after a service was down, or slow without any job, it is not itself: what is learned is a guess.
const UNSETTLED: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub objective: Objective,
    pub bounds: Bounds,
    /// Least time between two changes, except for a freeze.
    pub period: Duration,
    /// Growth in cores.
    pub step: f64,
}

impl Settings {
    pub fn new(objective: Objective, bounds: Bounds) -> Self {
        let step = (bounds.ceiling - bounds.floor) / 20.0;
        Self { objective, bounds, period: Duration::from_millis(200), step }
    }
}

#[derive(Debug, Clone)]
pub struct Graded {
    settings: Settings,
    /// Cores of the BE jobs when they are not frozen, those before the last change, and when that was.
    level: f64,
    before: f64,
    changed: Duration,
    recent: Window,
    /// The same without times in which the machine was slow.
    undisturbed: Window,
    /// Of these, requests since the last change.
    evidence: Counts,
    baseline: Baseline,
    limits: LimitsByKinds,
    freeze: Freeze,
    /// Newest windows in a row in which requests were slow and BE jobs idle.
    slow_without_jobs: u32,
    unsettled_until: Duration,
    /// When jobs last had less because requests were slow, and what they had before.
    shrunk: Option<(Duration, f64)>,
}

impl Graded {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            level: settings.bounds.floor,
            before: settings.bounds.floor,
            changed: Duration::ZERO,
            recent: Window::default(),
            undisturbed: Window::default(),
            evidence: Counts::default(),
            baseline: Baseline::default(),
            limits: LimitsByKinds::default(),
            freeze: Freeze::default(),
            slow_without_jobs: 0,
            unsettled_until: Duration::ZERO,
            shrunk: None,
        }
    }

    fn running(&self, reason: Reason) -> Decision {
        Decision { allotment: Allotment::cores(self.level), reason }
    }

    /// What jobs have had since this time, in seconds, as a part of what they may have; `None` if it changed, or a queue may be left.
    fn part_since(&mut self, begin: f64) -> Option<f64> {
        let (since, level) = match self.freeze.now() {
            Some(frozen) => (frozen.since + DRAINED, 0.0),
            None => (self.changed, self.level),
        };
        (begin >= since.as_secs_f64()).then_some(level / self.settings.bounds.ceiling)
    }

    /// Changes the level; evidence of another level says nothing of this one.
    fn change(&mut self, now: Duration, level: f64, reason: Reason) -> Decision {
        let Bounds { floor, ceiling, .. } = self.settings.bounds;
        self.before = self.level;
        self.level = level.clamp(floor, ceiling);
        self.changed = now;
        self.evidence = Counts::default();
        self.running(reason)
    }

    /// The decision while frozen; `None` when that is over. The queue that an emergency leaves must be gone before.
    fn frozen(&mut self, now: Duration) -> Option<Decision> {
        let budget = self.settings.objective.budget();
        let frozen = self.freeze.now()?;
        let last = self.recent.counts_from(now.saturating_sub(HOLD / 2));
        if now < frozen.until || last.share() > budget {
            let without_jobs = self.recent.counts_from(frozen.since + DRAINED).answered();
            if !frozen.is_in_doubt && without_jobs.interval(SURE).0 > budget {
                frozen.is_in_doubt = true;
                self.limits.doubt(now);
                self.shrunk = None;
            }
            if frozen.is_in_doubt || frozen.cause == Cause::Failing {
                self.unsettled_until = now + UNSETTLED;
            }
            let reason = if frozen.cause == Cause::Failing { Reason::Failing } else { Reason::Cooldown };
            return Some(Decision { allotment: Allotment::FROZEN, reason });
        }
        self.freeze.end();
        self.recent.restart(now);
        self.undisturbed.restart(now);
        self.slow_without_jobs = 0;
        let level = self.level * HARD;
        self.change(now, level, Reason::Hold);
        None
    }

    /// Freezes where requests fail at once.
    fn failing(&mut self, now: Duration) -> Option<Decision> {
        let budget = self.settings.objective.budget();
        let last = self.recent.counts_from(now.saturating_sub(BURST));
        if last.failed_share() <= budget || self.recent.failing_for(budget) < FAILING {
            return None;
        }
        self.freeze.begin(now, Cause::Failing, Part::None);
        Some(Decision { allotment: Allotment::FROZEN, reason: Reason::Failing })
    }

    /// Freezes or shrinks, if too many requests were slow since the level was set. Where a second has few requests that is sure before
    /// they shrink by a factor, and certain before the level is taken for too much, which is a guess; until then they shrink by a small step.
    fn less(&mut self, now: Duration, requests: Requests) -> Option<Decision> {
        let budget = self.settings.objective.budget();
        let is_over = |counts: Counts, z: f64| counts.answered().interval(z).0 > budget;
        let burst = self.undisturbed.counts_from(now.saturating_sub(BURST));
        let over_for = self.recent.over_for(budget);
        let rises = requests.rate() * WINDOW.as_secs_f64() > RISES * self.recent.counts().count as f64;
        let is_heavy = rises || burst.answered().share() >= HEAVY * budget;
        let lasts = over_for >= if is_heavy { LASTING_IF_HEAVY } else { LASTING };
        let is_emergency = lasts && (is_over(self.recent.counts(), CERTAIN) || is_over(burst, CERTAIN));
        let [last, of_burst, long] = [WINDOW, BURST, MEMORY]
            .map(|length| self.undisturbed.counts_from(self.changed.max(now.saturating_sub(length))).answered());
        let since = self.evidence;
        let are_few = requests.rate() * budget < FEW;
        let is_slow = |z| if are_few { is_over(last, z) || is_over(since, z) } else { last.share() > budget };
        let (is_sure, is_due) = (is_slow(SURE), now >= self.changed + self.settings.period);
        let may_be = if requests.rate() * budget < ENOUGH {
            long.count as f64 * budget >= ENOUGH && long.share() > budget
        } else {
            last.share() > budget
        };
        if !is_emergency && !(is_due && (is_sure || may_be)) {
            return None;
        }
        let repeats = self.undisturbed.seconds_over(budget, now.saturating_sub(WINDOW)) >= REPEATED;
        // Of jobs that have the least there is no less to learn.
        let are_at_floor = self.level <= self.settings.bounds.floor;
        if !are_at_floor && (is_slow(CERTAIN) && repeats || is_emergency && of_burst.share() > budget) {
            let is_itself = now >= self.unsettled_until && !are_few;
            self.limits.broke(now, requests.load.filter(|_| is_itself), self.level);
        }
        // What made jobs shrink just before was the begin of it: they go on from half of what they had then, where more takes seconds to
        // be sure of.
        if is_emergency && are_few && now < self.changed + WINDOW {
            self.level = self.level.max(self.before);
        }
        if is_emergency || is_sure {
            self.note_shrink(now);
        }
        if is_emergency {
            let sure = if rises { Part::Sure } else { Part::Likely };
            self.freeze.begin(now, Cause::Slow, if are_at_floor { Part::None } else { sure });
            return Some(Decision { allotment: Allotment::FROZEN, reason: Reason::Emergency });
        }
        let less = if is_sure {
            self.level * if last.share() > 2.0 * budget { HARD } else { SHRINK }
        } else {
            self.level - self.settings.step * STEP_BACK
        };
        Some(self.change(now, less.min(self.most(now, requests.load)), Reason::Shrink))
    }

    /// Jobs have less because requests were slow. That of a service that is not itself says nothing of their level.
    fn note_shrink(&mut self, now: Duration) {
        if now >= self.unsettled_until {
            self.shrunk = Some((now, self.level));
        }
    }

    /// Jobs of other kinds begin below what was too much of them before: what they find in the caches is not theirs.
    fn begin(&mut self, now: Duration, load: Option<f64>) -> Option<Decision> {
        let careful = self.limits.at(now, load)? * SHRINK;
        (self.level > careful).then(|| self.change(now, careful, Reason::KnownLimit))
    }

    /// Whether it is above half of what was known to be too much, or of what made jobs shrink not long ago.
    fn is_near_what_was_too_much(&self, now: Duration) -> bool {
        let shrunk = self.shrunk.filter(|(at, _)| now < *at + CAREFUL).map(|(_, level)| level);
        self.limits.all_known().chain(shrunk).any(|too_much| self.level >= too_much / 2.0)
    }

    /// Cores up to which jobs grow at this load.
    fn most(&self, now: Duration, load: Option<f64>) -> f64 {
        let Bounds { floor, ceiling, .. } = self.settings.bounds;
        self.limits.at(now, load).map_or(ceiling, |limit| (limit * BELOW_LIMIT).clamp(floor, ceiling))
    }

    /// Grows, if that is surely within the objective.
    fn more(&mut self, now: Duration, requests: Requests, slow_machine: bool, is_idle: bool) -> Decision {
        let Settings { objective, bounds, period, step, .. } = self.settings;
        let most = self.most(now, requests.load);
        if self.level > most {
            return self.change(now, most, Reason::KnownLimit);
        }
        let slack = objective.slack(requests.latency_ms);
        let is_near = self.is_near_what_was_too_much(now);
        let is_quiet = is_idle && !is_near && self.undisturbed.quiet_for(self.changed) >= QUIET;
        let is_far = slack >= FAR && !is_near;
        let z = if is_far { SURE_IF_FAR } else { SURE };
        let is_sure = self.evidence.interval(z).1 < MARGIN * objective.budget();
        let may_grow = is_quiet || is_sure && slack >= LEAST_SLACK && now >= self.changed + period;
        let is_limited = most < bounds.ceiling;
        if slow_machine {
            self.running(Reason::SlowMachine)
        } else if most - self.level < step / 2.0 {
            // A limit rises all the time.
            self.running(if is_limited { Reason::KnownLimit } else { Reason::Ceiling })
        } else if may_grow {
            let part = if is_quiet { 1.0 } else { (slack / TWICE).min(1.0) };
            let stride = if is_far || is_quiet { step.max(self.level * part) } else { step };
            let level = (self.level + stride).min(most);
            let is_last = !is_limited && most - level < step / 2.0;
            self.change(now, if is_last { most } else { level }, Reason::Grow)
        } else {
            self.running(Reason::Hold)
        }
    }
}

impl Policy for Graded {
    fn decide(&mut self, now: Duration, readings: &Readings) -> Decision {
        let budget = self.settings.objective.budget();
        let are_idle = readings.are_jobs_idle();
        let waits_for_others = are_idle && readings.run_delay.is_some_and(|share| share.value >= WAITS);
        let slow_machine = waits_for_others || readings.lost.is_some_and(|lost| lost.value >= SLOW_MACHINE);
        if let Some(requests) = readings.requests {
            if let Some(begin) = self.recent.add(now, requests) {
                let part = self.part_since(begin);
                self.baseline.add(now, part, &requests.value, budget);
                let is_idle_and_slow = are_idle && is_over(&requests.value, budget);
                self.slow_without_jobs = if is_idle_and_slow { self.slow_without_jobs + 1 } else { 0 };
            }
            let teaches = !slow_machine && self.slow_without_jobs == 0;
            let begin = if teaches { self.undisturbed.add(now, requests) } else { None };
            if begin.is_some_and(|begin| begin >= self.changed.as_secs_f64()) {
                self.evidence.add(requests.value);
            }
        }
        self.recent.keep(now, WINDOW);
        self.undisturbed.keep(now, MEMORY);
        match staleness(now, readings, self.settings.bounds.deadline) {
            Some(Reason::Lost) => {
                self.unsettled_until = now + UNSETTLED;
                self.change(now, 0.0, Reason::Lost);
                return Decision { allotment: Allotment::FROZEN, reason: Reason::Lost };
            }
            Some(reason) => return self.change(now, 0.0, reason),
            None => {}
        }
        let requests = readings.requests.map(|reading| reading.value).unwrap_or_default();
        let are_others = self.limits.run(now, requests.load, readings.kinds);
        if let Some(decision) = self.frozen(now).or_else(|| self.failing(now)) {
            return decision;
        }
        if are_others && let Some(decision) = self.begin(now, requests.load) {
            return decision;
        }
        // Jobs that do not run cannot give way.
        if self.slow_without_jobs >= BLAMELESS {
            return self.running(Reason::NotJobs);
        }
        // Nor do they have a part in what comes as often when they have less.
        let part = self.level / self.settings.bounds.ceiling;
        let is_not_theirs = waits_for_others || self.baseline.is_usual(part, self.recent.over(budget));
        let less = if is_not_theirs { None } else { self.less(now, requests) };
        less.unwrap_or_else(|| self.more(now, requests, slow_machine, readings.is_service_idle()))
    }

    fn limits(&self, now: Duration) -> Vec<(Kinds, Known)> {
        self.limits.known(now)
    }

    fn forget(&mut self) {
        (self.limits, self.shrunk) = (LimitsByKinds::default(), None);
    }
}

#[cfg(test)]
mod tests;
