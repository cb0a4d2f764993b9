//! Adaptive spinning: looking for work for a few microseconds before going to sleep.
//!
//! With few connections the next request often arrives before a sleeping core has been woken. A spin that is rewarded
//! earns more spinning; spins in vain become rare, so an idle or slow server sleeps at once.

use crate::metrics::Metrics;
use std::{
    hint,
    time::{Duration, Instant},
};

/// What a hit earns, what a miss costs, and the most that can be saved up: three hits pay for two misses. A hit saves the
/// time it takes to wake a sleeping core, which is worth more than the spin.
const HIT: u32 = 4;
const MISS: u32 = 6;
const MOST: u32 = 16;
/// Without credit it sleeps this often before it tries again, and twice as often after every further miss, ...
const REST: u32 = 8;
/// ... so many times doubled at most: what never pays costs one spin in 512 sleeps.
const DOUBLED: u32 = 6;
/// Looks between two readings of the clock.
const LOOKS: u32 = 16;

/// When a worker looks for work instead of sleeping; see [`Builder::spin`](crate::Builder::spin). The default is a
/// [`Builder`](crate::Builder)'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spinning {
    /// The longest spin; zero for none.
    pub most: Duration,
    /// With more connections than this that talk, none.
    pub connections: u32,
}

impl Default for Spinning {
    fn default() -> Self {
        Self { most: Duration::from_micros(50), connections: 2 }
    }
}

pub(crate) struct Spin {
    most: Duration,
    credit: u32,
    /// Sleeps before the next try.
    rest: u32,
    /// Misses without credit since the last hit.
    streak: u32,
    hits: u64,
    misses: u64,
    spent: Duration,
}

impl Spin {
    pub fn new(most: Duration) -> Self {
        Self { most, credit: 0, rest: 0, streak: 0, hits: 0, misses: 0, spent: Duration::ZERO }
    }

    /// Whether [`wait`](Self::wait) would spin.
    pub fn is_worth_it(&self) -> bool {
        !self.most.is_zero() && self.rest == 0
    }

    /// Spins until `has_work` or the bound; true when there is work. `sleep` is how long a sleep would be at most.
    pub fn wait(&mut self, sleep: Option<Duration>, mut has_work: impl FnMut() -> bool) -> bool {
        if !self.is_worth_it() {
            self.rest = self.rest.saturating_sub(1);
            return false;
        }
        let bound = sleep.map_or(self.most, |sleep| sleep.min(self.most));
        let start = Instant::now();
        let (found, spent) = loop {
            if (0..LOOKS).any(|_| {
                hint::spin_loop();
                has_work()
            }) {
                break (true, start.elapsed());
            }
            let spent = start.elapsed();
            if spent >= bound {
                break (false, spent);
            }
        };
        self.spent += spent;
        if found {
            self.hits += 1;
            self.credit = (self.credit + HIT).min(MOST);
            self.streak = 0;
        } else {
            self.misses += 1;
            match self.credit.checked_sub(MISS) {
                Some(left) => self.credit = left,
                None => {
                    self.rest = REST << self.streak;
                    self.streak = (self.streak + 1).min(DOUBLED);
                }
            }
        }
        found
    }

    pub fn report(&self, metrics: &mut Metrics) {
        (metrics.spin_hits, metrics.spin_misses, metrics.spin_time) = (self.hits, self.misses, self.spent);
    }
}
