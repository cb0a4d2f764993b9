//! Allotments at which the objective was missed.
//!
//! A controller without this memory grows into the same violation again and again. Where the load of the LC service is known, limits
//! are kept by load: interference grows with both, so that what was too much at one load is too much at every higher one. Without a
//! known load, or where requests stayed slow while no job ran, a limit is a *guess*: it is tried again after some seconds, and
//! after twice as long each time it is broken again.

mod by_kinds;

pub use by_kinds::LimitsByKinds;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Loads are told apart by tenths of the peak; what lies above it is one more.
const STEPS: usize = 11;

/// A limit holds for loads lower by this much, too: a load near the edge of a tenth changes sides all the time.
const FLUCTUATION: f64 = 0.05;

/// A limit rises by this much a minute, since jobs and machine change; by half of it after each further time it was broken, down to
/// a sixteenth.
const RISE_PER_MINUTE: f64 = 0.05;
const MOST_HALVINGS: u32 = 4;

/// For how long a guess holds at first, and at most.
const GUESS: Duration = Duration::from_secs(5);
const LONGEST_GUESS: Duration = Duration::from_secs(15 * 60);
/// What breaks within this factor of a guess, and this soon after it is tried again, breaks the same limit.
const NEAR: f64 = 1.5;
const SOON: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default)]
pub struct Limits {
    broken: [Option<Limit>; STEPS],
    guess: Option<Guess>,
    /// The step that was broken last, and what was known of it before.
    last: Option<(usize, Option<Limit>)>,
}

/// Cores that were too many.
#[derive(Debug, Clone, Copy)]
struct Limit {
    cores: f64,
    since: Duration,
    /// Times that it was broken before.
    before: u32,
}

#[derive(Debug, Clone, Copy)]
struct Guess {
    cores: f64,
    until: Duration,
    hold: Duration,
}

/// A limit as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Load of the LC service from which it holds, as a share of its peak; `None` of a guess, which holds at any.
    pub load: Option<f64>,
    pub cores: f64,
    /// Seconds until a guess is tried again.
    pub tried_in: Option<f64>,
}

impl Limits {
    /// Remembers that this many cores were too many at this load.
    pub fn broke(&mut self, now: Duration, load: Option<f64>, cores: f64) {
        let Some(load) = load else { return self.guess(now, cores) };
        let step = step(load - FLUCTUATION);
        let known = self.own(step, now);
        let before = self.broken[step];
        self.last = Some((step, before));
        let count = before.map_or(0, |limit| limit.before + 1);
        let cores = known.map_or(cores, |known| known.min(cores));
        self.broken[step] = Some(Limit { cores, since: now, before: count });
    }

    /// Requests stayed slow without any job: what was learned last is a guess.
    pub fn doubt(&mut self, now: Duration) {
        let Some((step, before)) = self.last.take() else { return };
        if let Some(learned) = std::mem::replace(&mut self.broken[step], before) {
            self.guess(now, learned.cores);
        }
    }

    fn guess(&mut self, now: Duration, cores: f64) {
        let is_same = |guess: &Guess| {
            (guess.cores / NEAR..guess.cores * NEAR).contains(&cores) && now < guess.until + guess.hold.max(SOON)
        };
        let hold = self.guess.filter(is_same).map_or(GUESS, |guess| (guess.hold * 2).min(LONGEST_GUESS));
        self.hold(now, cores, hold);
    }

    fn hold(&mut self, now: Duration, cores: f64, hold: Duration) {
        self.guess = Some(Guess { cores, until: now + hold, hold });
    }

    /// Fewest cores known to be too many at this load, or at a lower one. An unknown load may be any.
    pub fn at(&self, now: Duration, load: Option<f64>) -> Option<f64> {
        let highest = load.map_or(STEPS - 1, step);
        let guess = self.guess.filter(|guess| now < guess.until).map(|guess| guess.cores);
        (0..=highest).filter_map(|step| self.own(step, now)).chain(guess).reduce(f64::min)
    }

    /// All numbers of cores that were too many once, whatever the load was and also where they are tried again.
    pub fn all_known(&self) -> impl Iterator<Item = f64> {
        self.broken.iter().flatten().map(|limit| limit.cores).chain(self.guess.map(|guess| guess.cores))
    }

    /// All that is known.
    pub fn known(&self, now: Duration) -> Vec<Known> {
        let by_load =
            |step: usize| Some(Known { load: Some(step as f64 / 10.0), cores: self.own(step, now)?, tried_in: None });
        let guess = self.guess.filter(|guess| now < guess.until).map(|guess| Known {
            load: None,
            cores: guess.cores,
            tried_in: Some((guess.until - now).as_secs_f64()),
        });
        (0..STEPS).filter_map(by_load).chain(guess).collect()
    }

    fn own(&self, step: usize, now: Duration) -> Option<f64> {
        let Limit { cores, since, before } = self.broken[step]?;
        let rise = RISE_PER_MINUTE / f64::from(1 << before.min(MOST_HALVINGS));
        Some(cores * (1.0 + rise * now.saturating_sub(since).as_secs_f64() / 60.0))
    }
}

fn step(load: f64) -> usize {
    ((load * 10.0).max(0.0) as usize).min(STEPS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn guesses_are_tried_again_soon_and_later_each_time_they_break() {
        let (mut limits, mut now) = (Limits::default(), seconds(100));
        let mut holds = Vec::new();
        for _ in 0..10 {
            limits.broke(now, None, 1.0);
            assert_eq!(limits.at(now, None), Some(1.0));
            let free = (0..2000).find(|later| limits.at(now + seconds(*later), None).is_none()).unwrap();
            holds.push(free);
            now += seconds(free + 2);
        }
        assert_eq!(holds, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
        // Another level, or this one long after, is another limit.
        limits.broke(now, None, 0.4);
        assert_eq!(limits.known(now)[0].tried_in, Some(5.0));
        now += seconds(3600);
        limits.broke(now, None, 0.4);
        assert_eq!(limits.known(now)[0].tried_in, Some(5.0));
    }

    #[test]
    fn what_is_in_doubt_is_a_guess_and_what_was_known_before_is_known_again() {
        let (mut limits, now) = (Limits::default(), seconds(100));
        limits.broke(seconds(0), Some(0.62), 3.0);
        limits.broke(now, Some(0.62), 1.0);
        assert_eq!(limits.at(now, Some(0.6)), Some(1.0));
        limits.doubt(now);
        assert_eq!(limits.at(now, Some(0.0)), Some(1.0));
        assert!(limits.at(now + GUESS, Some(0.6)).unwrap() > 3.0 && limits.at(now + GUESS, Some(0.4)).is_none());
        limits.doubt(now + GUESS);
        assert!(limits.at(now + GUESS, Some(0.6)).unwrap() > 3.0);
    }

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
            let too_many = broken.iter().filter(|(other, ..)| step(*other - FLUCTUATION) <= step(load));
            prop_assert_eq!(at(load, now).is_finite(), too_many.count() > 0);
        }
    }
}
