//! Allotments at which the objective was missed.
//!
//! A controller without this memory grows into the same violation again and again. A limit is tried again after some time, and after
//! twice as long each time it is broken again: what made it may be gone, or may not have been the jobs. Where the load of the LC
//! service is known, limits are kept by load: interference grows with both, so that what was too much at one load is too much at every
//! higher one. Without a known load, or where requests stayed slow while no job ran, a limit is a *guess*, which holds at any load
//! and is tried again sooner.

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

/// For how long a limit holds at first, a guess, and either of them at most: time at loads at which it holds.
const HOLD: Duration = Duration::from_secs(5 * 60);
const GUESS: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// What breaks within this factor of a limit, and this soon after it is tried again, breaks the same limit.
const NEAR: f64 = 1.5;
const SOON: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Default)]
pub struct Limits {
    broken: [Option<Limit>; STEPS],
    guess: Option<Limit>,
    /// The step that was broken last, and what was known of it before.
    last: Option<(usize, Option<Limit>)>,
}

/// Cores that were too many.
#[derive(Debug, Clone, Copy)]
struct Limit {
    cores: f64,
    since: Duration,
    hold: Duration,
    /// Time since then at loads at which it holds.
    held: Duration,
    /// Times that it was broken before.
    before: u32,
}

impl Limit {
    /// After `known`, if that is the same; else it holds for the time of a first one.
    fn broken(known: Option<Self>, now: Duration, cores: f64, first: Duration) -> Self {
        match known.filter(|known| known.is_same(cores)) {
            Some(known) => {
                let cores = known.at(now).map_or(cores, |limit| limit.min(cores));
                let hold = (known.hold * 2).min(LONGEST);
                Self { cores, since: now, hold, held: Duration::ZERO, before: known.before + 1 }
            }
            None => Self { cores, since: now, hold: first, held: Duration::ZERO, before: 0 },
        }
    }

    fn is_same(&self, cores: f64) -> bool {
        (self.cores / NEAR..self.cores * NEAR).contains(&cores) && self.held < self.hold + self.hold.max(SOON)
    }

    /// `None` once it is to be tried again.
    fn at(&self, now: Duration) -> Option<f64> {
        let age = now.saturating_sub(self.since);
        let rise = RISE_PER_MINUTE / f64::from(1 << self.before.min(MOST_HALVINGS));
        (self.held < self.hold).then(|| self.cores * (1.0 + rise * age.as_secs_f64() / 60.0))
    }

    fn known(&self, now: Duration, load: Option<f64>) -> Option<Known> {
        let tried_in = self.hold.saturating_sub(self.held).as_secs_f64();
        Some(Known { load, cores: self.at(now)?, tried_in })
    }
}

/// A limit as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Load of the LC service from which it holds, as a share of its peak; `None` of a guess, which holds at any.
    pub load: Option<f64>,
    pub cores: f64,
    /// Seconds until it is tried again.
    pub tried_in: f64,
}

impl Limits {
    /// The load was this for so long: only what holds at it comes nearer to being tried again.
    pub fn pass(&mut self, time: Duration, load: Option<f64>) {
        let highest = load.map_or(STEPS - 1, step);
        let all = self.broken[..=highest].iter_mut().chain([&mut self.guess]).flatten();
        all.for_each(|limit| limit.held += time);
    }

    /// Remembers that this many cores were too many at this load.
    pub fn broke(&mut self, now: Duration, load: Option<f64>, cores: f64) {
        let Some(load) = load else { return self.guess(now, cores) };
        let step = step(load - FLUCTUATION);
        let known = self.broken[step];
        self.last = Some((step, known));
        self.broken[step] = Some(Limit::broken(known, now, cores, HOLD));
    }

    /// Requests stayed slow without any job: what was learned last is a guess.
    pub fn doubt(&mut self, now: Duration) {
        let Some((step, before)) = self.last.take() else { return };
        if let Some(learned) = std::mem::replace(&mut self.broken[step], before) {
            self.guess(now, learned.cores);
        }
    }

    /// Remembers that this many cores may be too many.
    fn guess(&mut self, now: Duration, cores: f64) {
        self.guess = Some(Limit::broken(self.guess, now, cores, GUESS));
    }

    /// Fewest cores known to be too many at this load, or at a lower one. An unknown load may be any.
    pub fn at(&self, now: Duration, load: Option<f64>) -> Option<f64> {
        let highest = load.map_or(STEPS - 1, step);
        let all = self.broken[..=highest].iter().chain([&self.guess]).flatten();
        all.filter_map(|limit| limit.at(now)).reduce(f64::min)
    }

    /// All numbers of cores that were too many once, whatever the load was and also where they are tried again.
    pub fn all_known(&self) -> impl Iterator<Item = f64> {
        self.broken.iter().chain([&self.guess]).flatten().map(|limit| limit.cores)
    }

    /// All that is known.
    pub fn known(&self, now: Duration) -> Vec<Known> {
        let by_load = self.broken.iter().enumerate();
        let by_load = by_load.filter_map(|(step, limit)| limit.as_ref()?.known(now, Some(step as f64 / 10.0)));
        by_load.chain(self.guess.and_then(|guess| guess.known(now, None))).collect()
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
            let free = |later: &u64| {
                limits.pass(seconds(u64::from(*later > 0)), None);
                limits.at(now + seconds(*later), None).is_none()
            };
            let free = (0..2000).find(free).unwrap();
            holds.push(free);
            now += seconds(free + 2);
            limits.pass(seconds(2), None);
        }
        assert_eq!(holds, [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]);
        // Another level, or this one long after, is another limit.
        limits.broke(now, None, 0.4);
        assert_eq!(limits.known(now)[0].tried_in, 5.0);
        now += seconds(3600);
        limits.pass(seconds(3600), None);
        limits.broke(now, None, 0.4);
        assert_eq!(limits.known(now)[0].tried_in, 5.0);
    }

    #[test]
    fn what_is_in_doubt_is_a_guess_and_what_was_known_before_is_known_again() {
        let (mut limits, now) = (Limits::default(), seconds(100));
        limits.broke(seconds(90), Some(0.62), 3.0);
        limits.broke(now, Some(0.62), 1.0);
        assert_eq!(limits.at(now, Some(0.6)), Some(1.0));
        limits.doubt(now);
        assert_eq!(limits.at(now, Some(0.0)), Some(1.0));
        limits.pass(GUESS, Some(0.4));
        assert!(limits.at(now + GUESS, Some(0.6)).unwrap() > 3.0 && limits.at(now + GUESS, Some(0.4)).is_none());
        limits.doubt(now + GUESS);
        assert!(limits.at(now + GUESS, Some(0.6)).unwrap() > 3.0);
    }

    #[test]
    fn a_limit_holds_for_a_time_at_loads_at_which_it_holds() {
        let (mut limits, at) = (Limits::default(), |minutes: u64| seconds(60 * minutes));
        limits.broke(at(0), Some(0.62), 1.0);
        limits.pass(at(100), Some(0.3));
        assert!(limits.at(at(100), Some(0.6)).is_some() && limits.at(at(100), Some(0.3)).is_none());
        limits.pass(at(4), Some(0.9));
        assert!(limits.at(at(105), Some(0.9)).is_some());
        limits.pass(at(1), Some(0.6));
        assert!(limits.at(at(105), Some(0.9)).is_none());
    }

    proptest! {
        #[test]
        fn limits_fall_with_the_load_and_rise_with_time(
            broken in proptest::collection::vec((0.0..1.2f64, 0.05..8.0f64, 580..600u64), 0..20),
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
