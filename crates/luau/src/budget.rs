//! The time that a call may take. Asked at every call, return and loop of a script, it reads a clock as seldom as it can: a
//! short call ends before it does so once.
//!
//! What counts is the processor time of the thread: on a machine with more to do than it has cores, a call is not to fail
//! because another process had its turn. That clock costs a system call, so it is read when the call is first looked at, and
//! again only when that is longer ago than the limit.

use rustix::time::{ClockId, clock_gettime};
use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// Between two looks at the clock: few enough that a script whose every step is slow is still ended in time.
const TICKS: u32 = 16;

/// What is left of a call's time.
#[derive(Debug)]
pub struct Budget {
    limit: Cell<Duration>,
    ticks: Cell<u32>,
    /// When the call was first looked at, and the processor time of the thread then.
    first: Cell<Option<(Instant, Duration)>>,
    over: Cell<bool>,
}

impl Budget {
    /// No time at all, before the first call.
    pub fn new() -> Self {
        Self { limit: Cell::default(), ticks: Cell::new(TICKS), first: Cell::default(), over: Cell::default() }
    }

    /// Begins a call that may take this long.
    #[inline]
    pub fn arm(&self, limit: Duration) {
        self.limit.set(limit);
        self.ticks.set(TICKS);
        self.first.set(None);
        self.over.set(false);
    }

    /// Asked while a call runs; false once its time is over. Then it stays false, so that a script that catches the error
    /// meets it again at its next step.
    #[inline]
    pub fn lasts(&self) -> bool {
        match self.ticks.get() {
            0 => self.look(),
            ticks => {
                self.ticks.set(ticks - 1);
                true
            }
        }
    }

    #[inline(never)]
    fn look(&self) -> bool {
        if self.over.get() {
            return false;
        }
        let now = Instant::now();
        let Some((first, used)) = self.first.get() else {
            self.first.set(Some((now, thread_time())));
            self.ticks.set(TICKS);
            return true;
        };
        if now.saturating_duration_since(first) > self.limit.get()
            && thread_time().saturating_sub(used) > self.limit.get()
        {
            self.over.set(true);
            return false;
        }
        self.ticks.set(TICKS);
        true
    }

    /// Whether the last call was ended.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.get()
    }

    /// How long the last call might have taken.
    pub fn limit(&self) -> Duration {
        self.limit.get()
    }
}

/// The processor time that this thread has used.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Neither part is ever negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks until the time is over, and says how long that took.
    fn exhaust(budget: &Budget) -> Duration {
        let before = thread_time();
        while budget.lasts() {}
        thread_time() - before
    }

    #[test]
    fn once_over_it_stays_over_until_the_next_call() {
        let budget = Budget::new();
        let limit = Duration::from_millis(5);
        for _ in 0..3 {
            budget.arm(limit);
            assert!(!budget.is_over());
            let took = exhaust(&budget);
            assert!(took >= limit, "{took:?}");
            assert!(budget.is_over() && (0..100).all(|_| !budget.lasts()));
        }
    }

    #[test]
    fn time_in_which_others_run_does_not_count() {
        let budget = Budget::new();
        budget.arm(Duration::from_millis(5));
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(6));
            assert!((0..100).all(|_| budget.lasts()));
        }
        exhaust(&budget);
    }
}
