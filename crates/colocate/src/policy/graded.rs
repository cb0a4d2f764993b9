//! The default policy: reacts in grades to the share of slow requests.
//!
//! | share of slow requests, of the objective's budget | BE jobs |
//! |---|---|
//! | above it beyond doubt, and for longer than a pause of the machine | frozen, for half a second and twice as long each time it happens again soon |
//! | above it | shrink by a factor |
//! | below, but not by the margin or not surely | hold |
//! | below by the margin, surely | grow by a step, up to the limit last broken at this load |
//!
//! Data of the LC service older than the deadline: the floor; older than three deadlines: frozen. While the machine itself is
//! slow, BE jobs neither grow nor learn a limit, because what is slow then is not their doing; while the service waits for cores that
//! others than BE jobs have, these do not shrink either.

use super::evidence::{Counts, Window};
use super::limits::Limits;
use super::{Decision, Policy, Reason, staleness};
use crate::allotment::{Allotment, Bounds};
use crate::objective::Objective;
use crate::readings::{Reading, Readings, Requests};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Standard deviations: an emergency is certain to 99.5 %, a growth to 95 %, each on its side.
const CERTAIN: f64 = 2.576;
const SURE: f64 = 1.645;

/// Requests of this long decide on less; those since the last change decide on more.
const WINDOW: Duration = Duration::from_secs(1);

/// Requests of this long are enough for an emergency.
const BURST: Duration = Duration::from_millis(200);

/// Seconds for which every window is above the budget in an emergency, and the sum of such windows, of the last second, that
/// makes a level known to be too much. A pause of the machine or of the load generator, that `lost` does not show, makes one window
/// slow or two; jobs that disturb make many slow.
const LASTING: f64 = 0.15;
const REPEATED: f64 = 0.25;

/// Share of the budget below which the share of slow requests must surely be for growth.
const MARGIN: f64 = 0.7;

/// Slack of the latency below which BE jobs do not grow, as in Heracles.
const LEAST_SLACK: f64 = 0.1;

/// Factors of a shrink; `HARD` where twice the budget was slow.
const SHRINK: f64 = 0.7;
const HARD: f64 = 0.5;

/// Part of a broken limit up to which BE jobs grow.
const BELOW_LIMIT: f64 = 0.9;

/// Share of a window that the machine takes from everyone before it counts as slow.
pub const SLOW_MACHINE: f64 = 0.02;

/// Share of the time that the service waits for a core, and cores that BE jobs use, from which and up to which it waits for
/// others than them.
const WAITS: f64 = 0.1;
const IDLE: f64 = 0.02;

/// First and longest freeze of an emergency, and the calm after which its length is halved.
const HOLD: Duration = Duration::from_millis(500);
const LONGEST_HOLD: Duration = Duration::from_secs(30);
const CALM: Duration = Duration::from_secs(60);

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
    /// Cores of the BE jobs when they are not frozen.
    level: f64,
    changed: Duration,
    recent: Window,
    /// The same without times in which the machine was slow.
    undisturbed: Window,
    /// Of these, requests since the last change.
    evidence: Counts,
    limits: Limits,
    freeze: Freeze,
}

/// The state of emergencies.
#[derive(Debug, Clone, Copy, Default)]
struct Freeze {
    until: Option<Duration>,
    last: Option<Duration>,
    /// Of the last one.
    length: Duration,
}

impl Freeze {
    fn begin(&mut self, now: Duration) {
        let calm = self.last.map_or(Duration::MAX, |last| now.saturating_sub(last));
        let halvings = u32::try_from(calm.as_secs() / CALM.as_secs()).unwrap_or(u32::MAX).min(16);
        self.length =
            if calm < CALM { self.length * 2 } else { self.length / (1 << halvings) }.clamp(HOLD, LONGEST_HOLD);
        self.last = Some(now);
        self.until = Some(now + self.length);
    }
}

impl Graded {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            level: settings.bounds.floor,
            changed: Duration::ZERO,
            recent: Window::default(),
            undisturbed: Window::default(),
            evidence: Counts::default(),
            limits: Limits::default(),
            freeze: Freeze::default(),
        }
    }

    fn running(&self, reason: Reason) -> Decision {
        Decision { allotment: Allotment::cores(self.level), reason }
    }

    /// Changes the level; evidence of another level says nothing of this one.
    fn change(&mut self, now: Duration, level: f64, reason: Reason) -> Decision {
        let Bounds { floor, ceiling, .. } = self.settings.bounds;
        self.level = level.clamp(floor, ceiling);
        self.changed = now;
        self.evidence = Counts::default();
        self.running(reason)
    }

    /// The decision while frozen; `None` when that is over. The queue that an emergency leaves must be gone before.
    fn frozen(&mut self, now: Duration) -> Option<Decision> {
        let until = self.freeze.until?;
        let last = self.recent.counts_from(now.saturating_sub(HOLD / 2));
        if now < until || last.share() > self.settings.objective.budget() {
            return Some(Decision { allotment: Allotment::FROZEN, reason: Reason::Cooldown });
        }
        self.freeze.until = None;
        self.recent.restart(now);
        self.undisturbed.restart(now);
        let level = self.level * HARD;
        self.change(now, level, Reason::Hold);
        None
    }

    /// Freezes or shrinks, if too many requests were slow. The level is known to be too much if those since it was set were.
    fn less(&mut self, now: Duration, load: Option<f64>) -> Option<Decision> {
        let budget = self.settings.objective.budget();
        let is_over = |counts: Counts| counts.interval(CERTAIN).0 > budget;
        let burst = self.undisturbed.counts_from(now.saturating_sub(BURST));
        let lasts = self.recent.over_for(budget) >= LASTING;
        let is_emergency = lasts && (is_over(self.recent.counts()) || is_over(burst));
        let [share, of_burst] = [WINDOW, BURST]
            .map(|length| self.undisturbed.counts_from(self.changed.max(now.saturating_sub(length))).share());
        let is_due = now >= self.changed + self.settings.period;
        if !is_emergency && (share <= budget || !is_due) {
            return None;
        }
        let repeats = self.undisturbed.seconds_over(budget, now.saturating_sub(WINDOW)) >= REPEATED;
        if share > budget && repeats || is_emergency && of_burst > budget {
            self.limits.broke(now, load, self.level);
        }
        if is_emergency {
            self.freeze.begin(now);
            return Some(Decision { allotment: Allotment::FROZEN, reason: Reason::Emergency });
        }
        let factor = if share > 2.0 * budget { HARD } else { SHRINK };
        Some(self.change(now, (self.level * factor).min(self.most(now, load)), Reason::Shrink))
    }

    /// Cores up to which jobs grow at this load.
    fn most(&self, now: Duration, load: Option<f64>) -> f64 {
        let Bounds { floor, ceiling, .. } = self.settings.bounds;
        self.limits.at(now, load).map_or(ceiling, |limit| (limit * BELOW_LIMIT).clamp(floor, ceiling))
    }

    /// Grows, if that is surely within the objective.
    fn more(&mut self, now: Duration, requests: Requests, slow_machine: bool) -> Decision {
        let Settings { objective, bounds, period, step, .. } = self.settings;
        let most = self.most(now, requests.load);
        if self.level > most {
            return self.change(now, most, Reason::KnownLimit);
        }
        let is_sure = self.evidence.interval(SURE).1 < MARGIN * objective.budget();
        let may_grow = is_sure && objective.slack(requests.latency_ms) >= LEAST_SLACK && now >= self.changed + period;
        let is_limited = most < bounds.ceiling;
        if slow_machine {
            self.running(Reason::SlowMachine)
        } else if most - self.level < step / 2.0 {
            // A limit rises all the time.
            self.running(if is_limited { Reason::KnownLimit } else { Reason::Ceiling })
        } else if may_grow {
            let level = (self.level + step).min(most);
            let is_last = !is_limited && most - level < step / 2.0;
            self.change(now, if is_last { most } else { level }, Reason::Grow)
        } else {
            self.running(Reason::Hold)
        }
    }
}

impl Policy for Graded {
    fn decide(&mut self, now: Duration, readings: &Readings) -> Decision {
        let waits_for_others = waits_for_others(readings);
        let slow_machine = waits_for_others || readings.lost.is_some_and(|lost| lost.value >= SLOW_MACHINE);
        if let Some(requests) = readings.requests {
            self.recent.add(now, requests);
            let begin = if slow_machine { None } else { self.undisturbed.add(now, requests) };
            if begin.is_some_and(|begin| begin >= self.changed.as_secs_f64()) {
                self.evidence.add(requests.value);
            }
        }
        self.recent.keep(now, WINDOW);
        self.undisturbed.keep(now, WINDOW);
        match staleness(now, readings, self.settings.bounds.deadline) {
            Some(Reason::Lost) => {
                self.change(now, 0.0, Reason::Lost);
                return Decision { allotment: Allotment::FROZEN, reason: Reason::Lost };
            }
            Some(reason) => return self.change(now, 0.0, reason),
            None => {}
        }
        let requests = readings.requests.map(|reading| reading.value).unwrap_or_default();
        if let Some(decision) = self.frozen(now) {
            return decision;
        }
        // Jobs that do not run cannot give way.
        let less = if waits_for_others { None } else { self.less(now, requests.load) };
        less.unwrap_or_else(|| self.more(now, requests, slow_machine))
    }
}

/// Whether processes other than the BE jobs have the cores of the service.
fn waits_for_others(readings: &Readings) -> bool {
    let is = |reading: Option<Reading<f64>>, is: fn(f64) -> bool| reading.is_some_and(|reading| is(reading.value));
    is(readings.run_delay, |share| share >= WAITS) && is(readings.be_cpu, |cores| cores < IDLE)
}

#[cfg(test)]
mod tests;
