//! The end of a run, requested by a signal or by a thread that failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Longest time for which a thread of the run does not look at the flag.
const LONGEST_SLEEP: Duration = Duration::from_millis(50);

#[derive(Debug, Clone)]
pub struct Stop(Arc<State>);

#[derive(Debug)]
struct State {
    is_stopped: AtomicBool,
    waiter: Thread,
}

impl Stop {
    /// The calling thread is the one that runs the co-runner; a stop wakes it.
    pub fn new() -> Self {
        Self(Arc::new(State { is_stopped: AtomicBool::new(false), waiter: thread::current() }))
    }

    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        self.0.waiter.unpark();
    }

    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::Relaxed)
    }

    /// Sleeps on any thread, until the time is over or the run is stopped.
    pub(crate) fn sleep(&self, time: Duration) {
        let start = Instant::now();
        while let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero())
            && !self.is_stopped()
        {
            thread::sleep(left.min(LONGEST_SLEEP));
        }
    }

    /// Waits on the thread that created this, until `end` or the stop.
    pub(crate) fn wait_until(&self, end: Instant) {
        while let Some(left) = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            && !self.is_stopped()
        {
            thread::park_timeout(left);
        }
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}
