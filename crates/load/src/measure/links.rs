//! What the recorder of a load thread shares with the rest of the run.

use crate::measure::interval::Usage;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Limit of requests answered or failed, over all threads, which ends the window.
#[derive(Debug)]
pub struct Budget {
    pub limit: u64,
    pub done: AtomicU64,
}

impl Budget {
    pub fn new(limit: u64) -> Self {
        Self { limit, done: AtomicU64::new(0) }
    }
}

pub struct Links {
    /// Start of the window, in nanoseconds of the run's clock, if it is decided during the warm-up.
    pub open: Arc<AtomicU64>,
    /// End of the window, in nanoseconds of the run's clock; set to an earlier time to end a run early.
    pub close: Arc<AtomicU64>,
    pub budget: Option<Arc<Budget>>,
    /// Reads this thread's CPU usage.
    pub meter: Box<dyn Fn() -> Usage>,
}
