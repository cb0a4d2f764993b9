//! What the recorder of a load thread shares with the rest of the run.

use crate::measure::interval::Usage;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, SeqCst},
};

/// A number of requests of the window, over all threads: so many are sent, and the window ends when each has its end.
#[derive(Debug)]
pub struct Budget {
    /// Requests that a closed loop may still send. The schedule of an open loop ends by itself.
    left: AtomicU64,
    /// Requests sent or to be sent that have not ended.
    unended: AtomicU64,
    /// A write is not cut to the requests that are left.
    has_whole_writes: bool,
    /// The window does not end before, in nanoseconds of the run's clock: the latest end of a request, and in an open loop the
    /// time at which the next one would be due.
    until: AtomicU64,
}

impl Budget {
    pub fn new(requests: u64) -> Self {
        Self {
            left: AtomicU64::new(requests),
            unended: AtomicU64::new(requests),
            has_whole_writes: false,
            until: AtomicU64::new(0),
        }
    }

    /// One request and those in the same write.
    pub fn of_one_write() -> Self {
        Self { has_whole_writes: true, ..Self::new(1) }
    }

    pub fn begin(&self, until_ns: u64) {
        self.until.fetch_max(until_ns, Relaxed);
    }

    /// Whether there is no request: then none will end.
    pub fn is_none(&self) -> bool {
        self.unended.load(Relaxed) == 0
    }

    /// The end of the window, once the last request has ended: no earlier than this.
    pub fn ended(&self) -> Option<u64> {
        (self.unended.load(Acquire) == 0).then(|| self.until.load(Relaxed))
    }

    /// Takes up to `wanted` requests to send, fewer if fewer are left.
    pub fn draw(&self, wanted: u64) -> u64 {
        let draw = |left: u64| Some(left.saturating_sub(wanted));
        let before = self.left.fetch_update(Relaxed, Relaxed, draw).unwrap_or_default();
        before.min(wanted)
    }

    /// As [`Self::draw`], of requests in the write of one that was drawn.
    pub fn draw_along(&self, wanted: u64) -> u64 {
        if self.has_whole_writes { wanted } else { self.draw(wanted) }
    }

    /// A request has ended now. Returns the end of the window if it was the last.
    pub fn spend(&self, now_ns: u64) -> Option<u64> {
        // The last of several threads may have read its clock before another that counts first.
        self.until.fetch_max(now_ns + 1, Relaxed);
        let is_last = self.unended.fetch_sub(1, AcqRel) == 1;
        is_last.then(|| self.until.load(Relaxed))
    }
}

pub struct Links {
    /// Start of the window, in nanoseconds of the run's clock, if it is decided during the warm-up.
    pub open: Arc<AtomicU64>,
    /// End of the window, in nanoseconds of the run's clock; set to an earlier time to end a run early.
    pub close: Arc<AtomicU64>,
    /// The same without a lease, which may set `close` to a later time.
    pub window_close: Arc<AtomicU64>,
    pub budget: Option<Arc<Budget>>,
    /// Reads this thread's CPU usage.
    pub meter: Box<dyn Fn() -> Usage>,
}

impl Links {
    /// Ends the window at `ns`, unless it ends before. The order counts for [`Shared::lease_until`](crate::engine::shared::Shared).
    #[cold]
    pub fn close_at(&self, ns: u64) {
        close_at(&self.window_close, &self.close, ns);
    }
}

/// Ends a window at `ns`, unless it ends before: its own end first, and then that which threads look at.
pub fn close_at(window_close: &AtomicU64, close: &AtomicU64, ns: u64) {
    window_close.fetch_min(ns, SeqCst);
    close.fetch_min(ns, SeqCst);
}
