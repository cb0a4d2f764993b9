//! How often windows are slow by themselves, by what jobs had meanwhile.
//!
//! A machine, a service or its users may stand still for some milliseconds whatever the jobs do. What is slow as often, and no more, while
//! jobs have clearly less than now is not their doing.

use crate::policy::evidence::{Counts, Over, is_over};
use crate::readings::Requests;
use std::time::Duration;

/// Levels that are told apart: frozen, and equal parts of what jobs may have.
const LEVELS: usize = 9;
/// Windows above the budget that may be one stall; more in a row are slow for a reason that lasts, and say nothing here.
const STALL: usize = 2;
/// What was seen so long ago counts for 1/e.
const MEMORY: Duration = Duration::from_secs(300);
/// Fewest slow windows of which a rate is known.
const LEAST: f64 = 3.0;
/// Part of what jobs have below which they have clearly less, and a probability of what is not usual any more.
const CLEARLY: f64 = 0.8;
const UNUSUAL: f64 = 0.01;
/// A rate of slow windows that is so many times higher is another one, unless that has this probability by chance.
const HIGHER: f64 = 1.5;
const CHANCE: f64 = 0.05;
/// Expected events whose number is nearly normally distributed.
const MANY: f64 = 100.0;
/// So many times the slow requests of a usual stall are none.
const LARGE: f64 = 2.0;

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    windows: f64,
    over: f64,
    /// Sum of the shares of slow requests of those above the budget.
    slow: f64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Baseline {
    levels: [Seen; LEVELS],
    /// Windows above the budget in a row, up to the newest: level and share of slow requests. `None` of more than a stall has.
    run: Option<Vec<(usize, f64)>>,
    at: Duration,
}

impl Baseline {
    /// Adds a window in which jobs had this part of what they may have; `None` if that changed in it.
    pub fn add(&mut self, now: Duration, part: Option<f64>, requests: &Requests, budget: f64) {
        self.fade(now);
        let level = part.map(level);
        if is_over(requests, budget) {
            let share = Counts::of(*requests).answered().share();
            self.run = self.run.take().filter(|run| run.len() < STALL).map(|mut run| {
                let level = run.first().map(|(level, _)| *level).or(level);
                run.extend(level.map(|level| (level, share)));
                run
            });
            return;
        }
        for (level, share) in self.run.replace(Vec::new()).into_iter().flatten() {
            let seen = &mut self.levels[level];
            (seen.windows, seen.over, seen.slow) = (seen.windows + 1.0, seen.over + 1.0, seen.slow + share);
        }
        if let Some(level) = level {
            self.levels[level].windows += 1.0;
        }
    }

    fn fade(&mut self, now: Duration) {
        let factor = (-now.saturating_sub(self.at).as_secs_f64() / MEMORY.as_secs_f64()).exp();
        self.at = now;
        for Seen { windows, over, slow } in &mut self.levels {
            (*windows, *over, *slow) = (*windows * factor, *over * factor, *slow * factor);
        }
    }

    /// Whether windows above the budget that are so many of the newest, with this share of slow requests, are usual also while jobs have
    /// clearly less than this part: that is not excluded to 99 %, and they have not been more frequent at this part.
    pub fn is_usual(&self, part: f64, Over { over, windows, share }: Over) -> bool {
        let (fewer, more) = self.levels.split_at(level(part * CLEARLY));
        let (few, many) = (Seen::sum(fewer), Seen::sum(more));
        if few.over < LEAST {
            return false;
        }
        let rate = few.over / few.windows;
        at_least(over, rate * windows as f64) >= UNUSUAL
            && share <= LARGE * few.slow / few.over
            && (many.over <= HIGHER * rate * many.windows
                || at_least(many.over as usize, rate * many.windows) >= CHANCE)
    }
}

impl Seen {
    fn sum(levels: &[Self]) -> Self {
        levels.iter().fold(Self::default(), |sum, seen| Self {
            windows: sum.windows + seen.windows,
            over: sum.over + seen.over,
            slow: sum.slow + seen.slow,
        })
    }
}

/// Probability of at least so many events where this number is expected, after Poisson; of many events, whether it is above 0.1 %.
fn at_least(events: usize, expected: f64) -> f64 {
    if expected > MANY {
        return f64::from(u8::from(events as f64 <= expected + 3.0 * expected.sqrt()));
    }
    let mut exactly = (-expected).exp();
    let mut fewer = 0.0;
    for event in 0..events {
        fewer += exactly;
        exactly *= expected / (event + 1) as f64;
    }
    1.0 - fewer
}

/// 0: frozen.
fn level(part: f64) -> usize {
    let parts = (LEVELS - 1) as f64;
    ((part * parts).ceil() as usize).min(LEVELS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 100 requests, of which 12 are slow in one of `every`; 0: in none.
    fn feed(baseline: &mut Baseline, from: u64, windows: u64, part: f64, every: u64) {
        for window in from..from + windows {
            let slow = if every > 0 && window % every == 0 { 12 } else { 0 };
            let requests = Requests { seconds: 0.1, count: 100, slow, ..Requests::default() };
            baseline.add(Duration::from_millis(100 * window), Some(part), &requests, 0.01);
        }
    }

    #[test]
    fn stalls_that_come_with_few_jobs_too_are_usual() {
        let mut baseline = Baseline::default();
        let is_usual = |baseline: &Baseline, over, share| baseline.is_usual(1.0, Over { over, windows: 10, share });
        feed(&mut baseline, 1, 200, 0.2, 0);
        assert!(!is_usual(&baseline, 1, 0.12));
        feed(&mut baseline, 201, 200, 0.2, 20);
        assert!(is_usual(&baseline, 1, 0.12) && is_usual(&baseline, 1, 0.2), "{baseline:?}");
        // More of them, or more in them, are not, nor what is usual at this level alone.
        assert!(!is_usual(&baseline, 3, 0.12) && !is_usual(&baseline, 1, 0.3));
        assert!(!baseline.is_usual(0.3, Over { over: 1, windows: 10, share: 0.12 }));
        // Nor what is more frequent at this level.
        let mut more = baseline.clone();
        feed(&mut more, 401, 100, 1.0, 40);
        assert!(is_usual(&more, 1, 0.12), "{more:?}");
        feed(&mut more, 501, 100, 1.0, 5);
        assert!(!is_usual(&more, 1, 0.12), "{more:?}");
        // Forgotten after a while.
        feed(&mut baseline, 10_000, 1, 0.2, 0);
        assert!(!is_usual(&baseline, 1, 0.12));
    }

    #[test]
    fn chances_are_those_of_poisson() {
        for (events, expected, wanted) in
            [(0, 2.0, 1.0), (1, 2.0, 0.8647), (3, 0.5, 0.0144), (100, 1000.0, 1.0), (1100, 1000.0, 0.0)]
        {
            let found = at_least(events, expected);
            assert!((found - wanted).abs() < 1e-4, "{events} of {expected}: {found}");
        }
    }

    #[test]
    fn what_lasts_is_no_stall() {
        let mut baseline = Baseline::default();
        feed(&mut baseline, 1, 100, 0.2, 0);
        for burst in 0..10 {
            feed(&mut baseline, 100 + 10 * burst, 5, 0.2, 1);
            feed(&mut baseline, 105 + 10 * burst, 5, 0.2, 0);
        }
        assert!(!baseline.is_usual(1.0, Over { over: 1, windows: 10, share: 0.12 }), "{baseline:?}");
    }
}
