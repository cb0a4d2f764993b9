//! The end of a number of requests, of which each part of a load has a fixed share.

use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// The end of the window: that of the part that ends last.
pub struct Last {
    /// Parts that have not told theirs.
    left: AtomicUsize,
    /// The latest so far, on the run's clock.
    close_ns: AtomicU64,
}

impl Last {
    /// Of so many parts.
    pub fn of(parts: usize) -> Self {
        Self { left: AtomicUsize::new(parts), close_ns: AtomicU64::new(0) }
    }

    /// A part has ended its window at this time. Returns the end of all once all have told theirs.
    pub fn tell(&self, close_ns: u64) -> Option<u64> {
        self.close_ns.fetch_max(close_ns, AcqRel);
        let is_last = self.left.fetch_sub(1, AcqRel) == 1;
        is_last.then(|| self.close_ns.load(Acquire))
    }
}
