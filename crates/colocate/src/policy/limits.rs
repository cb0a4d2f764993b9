//! Allotments at which the objective was missed, by load of the LC service.
//!
//! Interference grows with both: what was too much at one load is too much at every higher one. A controller without this
//! memory grows into the same violation again and again.

use std::time::Duration;

/// Loads are told apart by tenths of the peak; what lies above it is one more.
const STEPS: usize = 11;

/// A limit holds for loads lower by this much, too: a load near the edge of a tenth changes sides all the time.
const FLUCTUATION: f64 = 0.05;

/// A limit rises by this much a minute, since jobs and machine change; by half of it after each further time it was broken, down to
/// a sixteenth.
const RISE_PER_MINUTE: f64 = 0.05;
const MOST_HALVINGS: u32 = 4;

#[derive(Debug, Clone, Default)]
pub struct Limits {
    broken: [Option<Limit>; STEPS],
}

/// Cores that were too many.
#[derive(Debug, Clone, Copy)]
struct Limit {
    cores: f64,
    since: Duration,
    /// Times that it was broken before.
    before: u32,
}

impl Limits {
    /// Remembers that this many cores were too many at this load.
    pub fn broke(&mut self, now: Duration, load: Option<f64>, cores: f64) {
        let step = step(load.map(|load| load - FLUCTUATION));
        let known = self.own(step, now);
        let before = self.broken[step].map_or(0, |limit| limit.before + 1);
        self.broken[step] = Some(Limit { cores: known.map_or(cores, |known| known.min(cores)), since: now, before });
    }

    /// Fewest cores known to be too many at this load, or at a lower one.
    pub fn at(&self, now: Duration, load: Option<f64>) -> Option<f64> {
        (0..=step(load)).filter_map(|step| self.own(step, now)).reduce(f64::min)
    }

    fn own(&self, step: usize, now: Duration) -> Option<f64> {
        let Limit { cores, since, before } = self.broken[step]?;
        let rise = RISE_PER_MINUTE / f64::from(1 << before.min(MOST_HALVINGS));
        Some(cores * (1.0 + rise * now.saturating_sub(since).as_secs_f64() / 60.0))
    }
}

/// An unknown load counts as the lowest: its limit holds at all loads.
fn step(load: Option<f64>) -> usize {
    load.map_or(0, |load| ((load * 10.0).max(0.0) as usize).min(STEPS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn limits_fall_with_the_load_and_rise_with_time(
            broken in proptest::collection::vec((0.0..1.2f64, 0.05..8.0f64, 0..600u64), 0..20),
            load in 0.0..1.2f64,
            more in 0.0..0.5f64,
            later in 0..3600u64,
        ) {
            let mut limits = Limits::default();
            let mut broken = broken;
            broken.sort_by_key(|(.., at)| *at);
            for (load, cores, at) in &broken {
                limits.broke(Duration::from_secs(*at), Some(*load), *cores);
            }
            let now = Duration::from_secs(600);
            let at = |load, now| limits.at(now, Some(load)).unwrap_or(f64::INFINITY);
            prop_assert!(at(load + more, now) <= at(load, now));
            prop_assert!(at(load, now + Duration::from_secs(later)) >= at(load, now));
            let too_many = broken.iter().filter(|(other, ..)| step(Some(*other - FLUCTUATION)) <= step(Some(load)));
            prop_assert_eq!(at(load, now).is_finite(), too_many.count() > 0);
        }
    }
}
