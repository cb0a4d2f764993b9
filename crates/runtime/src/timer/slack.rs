//! Timer slack: by default the kernel may end a thread's sleeps 50 us late, to merge wake-ups (`PR_SET_TIMERSLACK`).

use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;

/// In nanoseconds.
const SLACK: Option<NonZeroU64> = NonZeroU64::new(1);

/// Sets the calling thread's timer slack to 1 ns until dropped. Best effort: the kernel may refuse.
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
        // `None` restores the thread's initial value.
        let _ = set_current_timer_slack(self.0);
    }
}
