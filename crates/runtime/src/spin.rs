//! Adaptive spinning: looking for work for a few microseconds before going to sleep.
//!
//! With few connections the next request often arrives before a sleeping core has been woken. A spin that is rewarded
//! earns more spinning, one in vain costs credit, so an idle or slow server soon sleeps at once.

use crate::metrics::Metrics;
use std::{
    hint,
    time::{Duration, Instant},
};

/// Credit at which spinning is tried, and its bounds. A hit earns more than a miss costs: it saves a wake-up, which is
/// worth several spins.
const TRY_AT: i32 = 0;
const MOST: i32 = 16;
const LEAST: i32 = -64;
const HIT: i32 = 4;
const MISS: i32 = -6;
/// Looks between two readings of the clock.
const LOOKS: u32 = 16;

pub(crate) struct Spin {
    most: Duration,
    credit: i32,
    hits: u64,
    misses: u64,
    spent: Duration,
}

impl Spin {
    pub fn new(most: Duration) -> Self {
        Self { most, credit: TRY_AT, hits: 0, misses: 0, spent: Duration::ZERO }
    }

    /// Spins until `has_work` or the bound; true when there is work. `sleep` is how long a sleep would be at most.
    pub fn wait(&mut self, sleep: Option<Duration>, mut has_work: impl FnMut() -> bool) -> bool {
        if self.most.is_zero() {
            return false;
        }
        if self.credit < TRY_AT {
            // Every sleep without a spin brings the next try nearer.
            self.credit += 1;
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
        } else {
            self.misses += 1;
            // A run of misses backs off further each time.
            self.credit = (self.credit + MISS).max(LEAST);
        }
        found
    }

    pub fn report(&self, metrics: &mut Metrics) {
        (metrics.spin_hits, metrics.spin_misses, metrics.spin_time) = (self.hits, self.misses, self.spent);
    }
}
