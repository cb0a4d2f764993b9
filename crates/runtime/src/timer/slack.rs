//! Sleeps that end when they should: the kernel may end a thread's sleeps some 50 us late, to wake up for several at once,
//! unless the thread says that it minds (`PR_SET_TIMERSLACK`).
//!
//! Must leave the thread as it found it: it is the caller's.

use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;

/// Nanoseconds.
const SLACK: Option<NonZeroU64> = NonZeroU64::new(1);

/// Makes the calling thread's sleeps punctual until it is dropped. Where the kernel refuses, they are as they were.
pub(crate) struct TimerSlackGuard(Option<NonZeroU64>);

impl TimerSlackGuard {
    pub fn new() -> Self {
        let before = current_timer_slack().ok().and_then(NonZeroU64::new);
        let _ = set_current_timer_slack(SLACK);
        Self(before)
    }
}

impl Drop for TimerSlackGuard {
    fn drop(&mut self) {
        // Without a value the thread gets back the one it was born with.
        let _ = set_current_timer_slack(self.0);
    }
}
