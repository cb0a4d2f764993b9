//! Dosing: the share of the time for which a thread works, or how many units it does a second.
//!
//! Each thread has a budget that grows with time and shrinks with its work. While it is positive the thread works without a
//! pause; then it sleeps until the budget is full. Invariants, for a budget that grows by `r` a second, over any time `t`:
//! - The work is at most `r (t + SLOT + CATCH_UP)` and one step, whatever the delays.
//! - It is at least `r (t - CATCH_UP)` while work is possible at that rate and no sleep is too long by `CATCH_UP`.

use crate::cpu_time;
use crate::stop::Stop;
use std::time::{Duration, Instant};

/// Length of one period of work and sleep.
const SLOT: Duration = Duration::from_millis(10);

/// Lost time that a thread makes up for. On a busy machine a thread that wakes waits for the time slices of others.
const CATCH_UP: Duration = Duration::from_millis(50);

/// Longest time that one step counts as work: the process may have been frozen meanwhile.
const LONGEST_STEP: Duration = Duration::from_secs(1);

/// The dose of all threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dose {
    /// Work without a pause.
    Full,
    /// Each thread works for this share of the time, above 0, below 1.
    Share(f64),
    /// Units per second over all threads.
    Rate(f64),
}

/// What counts as working.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkTime {
    /// CPU time of the thread, for work that never blocks.
    Cpu,
    /// Time inside of a step.
    Wall,
}

#[derive(Debug)]
struct Budget {
    /// Seconds of work, or units, per second.
    earns: f64,
    /// A full budget.
    depth: f64,
    left: f64,
    /// Time of the last call, since any origin.
    last: Duration,
}

impl Budget {
    fn new(earns: f64, depth: f64) -> Self {
        Self { earns, depth, left: depth, last: Duration::ZERO }
    }

    /// Work of a part `share` of each slot: a full budget lasts for `share SLOT` and takes the rest of the slot to fill.
    fn of_share(share: f64) -> Self {
        Self::new(share, share * (1.0 - share) * SLOT.as_secs_f64())
    }

    fn of_rate(per_second: f64) -> Self {
        Self::new(per_second, per_second * SLOT.as_secs_f64())
    }

    /// Accounts for work that ended at `now`. Returns the time to sleep.
    fn spend(&mut self, now: Duration, spent: f64) -> Duration {
        let earned = self.earns * now.saturating_sub(self.last).as_secs_f64();
        self.last = now;
        self.left = (self.left + earned - spent).min(self.depth + self.earns * CATCH_UP.as_secs_f64());
        if self.left > 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64((self.depth - self.left) / self.earns).unwrap_or(Duration::MAX)
    }
}

/// Keeps one thread to its dose.
#[derive(Debug)]
pub(crate) struct Pacer {
    budget: Option<Budget>,
    /// `None` if units are counted.
    clock: Option<WorkTime>,
    start: Instant,
    /// Reading of the clock at the end of the last step or sleep.
    seen: Duration,
}

impl Pacer {
    pub(crate) fn new(dose: Dose, threads: usize, clock: WorkTime) -> Self {
        let (budget, clock) = match dose {
            Dose::Full => (None, None),
            Dose::Share(share) => (Some(Budget::of_share(share)), Some(clock)),
            Dose::Rate(rate) => (Some(Budget::of_rate(rate / threads as f64)), None),
        };
        let mut pacer = Self { budget, clock, start: Instant::now(), seen: Duration::ZERO };
        pacer.seen = pacer.read();
        pacer
    }

    /// Sleeps as the dose requires after a step that did this many units.
    pub(crate) fn after_step(&mut self, units: u64, stop: &Stop) {
        let seen = self.read();
        let spent = match self.clock {
            None => units as f64,
            Some(_) => seen.saturating_sub(self.seen).min(LONGEST_STEP).as_secs_f64(),
        };
        self.seen = seen;
        let Some(budget) = &mut self.budget else { return };
        let pause = budget.spend(self.start.elapsed(), spent);
        if !pause.is_zero() {
            stop.sleep(pause);
            self.seen = self.read();
        }
    }

    fn read(&self) -> Duration {
        match self.clock {
            None => Duration::ZERO,
            Some(WorkTime::Cpu) => cpu_time::of_thread(),
            Some(WorkTime::Wall) => self.start.elapsed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Simulated steps, each with its length in microseconds and the excess of a sleep behind it. Returns pairs of time and
    /// work since the start, after each step and sleep. Units are done ten times as fast as the budget grows.
    fn simulate(mut budget: Budget, steps: &[(u32, u32)], counts_time: bool) -> Vec<(f64, f64)> {
        let (mut now, mut work) = (Duration::ZERO, 0.0);
        let mut course = vec![(0.0, 0.0)];
        for (length, excess) in steps {
            let length = Duration::from_micros((*length).into());
            now += length;
            let spent = length.as_secs_f64() * if counts_time { 1.0 } else { 10.0 * budget.earns };
            work += spent;
            course.push((now.as_secs_f64(), work));
            let pause = budget.spend(now, spent);
            if !pause.is_zero() {
                now += pause + Duration::from_micros((*excess).into());
                course.push((now.as_secs_f64(), work));
            }
        }
        course
    }

    proptest! {
        #[test]
        fn the_dose_holds_over_any_time(
            share in 0.01f64..0.99,
            rate in 0.1f64..1e9,
            counts_time: bool,
            steps in proptest::collection::vec((1u32..30_000, 0u32..45_000), 1..200),
        ) {
            let budget = || if counts_time { Budget::of_share(share) } else { Budget::of_rate(rate) };
            let (earns, slot, catch_up) = (budget().earns, SLOT.as_secs_f64(), CATCH_UP.as_secs_f64());
            let step = 0.030 * if counts_time { 1.0 } else { 10.0 * earns };
            let course = simulate(budget(), &steps, counts_time);
            for (i, (from, before)) in course.iter().enumerate() {
                for (to, after) in &course[i..] {
                    let (time, work) = (to - from, after - before);
                    prop_assert!(work <= earns * (time + slot + catch_up) + step + 1e-6 * earns, "{work} in {time} s");
                }
            }
            let (time, work) = *course.last().unwrap();
            prop_assert!(work >= earns * (time - catch_up) - 1e-6 * earns, "{work} in {time} s");
        }

        #[test]
        fn more_lost_time_is_not_made_up_for(share in 0.01f64..0.99, away_s in 1u64..10_000) {
            let mut budget = Budget::of_share(share);
            budget.spend(Duration::from_secs(away_s), 0.0);
            prop_assert!(budget.left <= share * (SLOT + CATCH_UP).as_secs_f64());
        }
    }
}
