//! Adaptive spinning: polling for work for a few microseconds before a sleep.
//!
//! With few connections the next request often arrives before a sleeping core has been woken. Spins that find work make
//! spinning more frequent; others make it rare, so an idle or slow server sleeps at once.

use crate::metrics::Metrics;
use std::hint;
use std::time::{Duration, Instant};

/// Credit earned by a hit, cost of a miss, and limit of the credit: three hits pay for two misses. A hit saves the time it
/// takes to wake a sleeping core, which exceeds the cost of the spin.
const HIT: u32 = 4;
const MISS: u32 = 6;
const MAX_CREDIT: u32 = 16;
/// Sleeps without a spin after a miss without credit, doubled by further misses up to `MAX_DOUBLINGS` times (512 sleeps).
const REST: u32 = 8;
const MAX_DOUBLINGS: u32 = 6;
/// Polls between two readings of the clock.
const POLLS: u32 = 16;

/// Limits of spinning before a sleep; see [`Builder::spin`](crate::Builder::spin). `default()` is the builder's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spinning {
    /// The longest spin; zero for none.
    pub most: Duration,
    /// The largest number of active connections with which the worker spins.
    pub connections: u32,
}

impl Default for Spinning {
    fn default() -> Self {
        Self { most: Duration::from_micros(50), connections: 2 }
    }
}

#[derive(Default)]
pub(crate) struct Spin {
    most: Duration,
    credit: u32,
    /// Sleeps before the next spin.
    rest: u32,
    /// Misses without credit since the last hit.
    streak: u32,
    hits: u64,
    misses: u64,
    spent: Duration,
}

impl Spin {
    pub fn new(most: Duration) -> Self {
        Self { most, ..Self::default() }
    }

    /// Whether [`wait`](Self::wait) would spin.
    pub fn is_worth_it(&self) -> bool {
        !self.most.is_zero() && self.rest == 0
    }

    /// Spins until `has_work`, at most for as long as the `sleep` would last; returns whether there is work.
    pub fn wait(&mut self, sleep: Option<Duration>, mut has_work: impl FnMut() -> bool) -> bool {
        if !self.is_worth_it() {
            self.rest = self.rest.saturating_sub(1);
            return false;
        }
        let bound = sleep.map_or(self.most, |sleep| sleep.min(self.most));
        let start = Instant::now();
        let (found, spent) = loop {
            if (0..POLLS).any(|_| {
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
            self.credit = (self.credit + HIT).min(MAX_CREDIT);
            self.streak = 0;
        } else {
            self.misses += 1;
            match self.credit.checked_sub(MISS) {
                Some(left) => self.credit = left,
                None => {
                    self.rest = REST << self.streak;
                    self.streak = (self.streak + 1).min(MAX_DOUBLINGS);
                }
            }
        }
        found
    }

    pub fn report(&self, metrics: &mut Metrics) {
        (metrics.spin_hits, metrics.spin_misses, metrics.spin_time) = (self.hits, self.misses, self.spent);
    }
}
