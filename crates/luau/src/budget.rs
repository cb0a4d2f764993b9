//! The time limit of a call, in CPU time of the thread, so that a busy machine does not make calls fail.
//!
//! Checked at every call, return and loop of a script. Clocks are read on every 16th check only; the CPU clock, a system
//! call, on the first of these and after the wall time has exceeded the limit.

use rustix::time::{ClockId, clock_gettime};
use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// Checks between two readings of the clock; few, to limit scripts whose single steps are slow.
const TICKS: u32 = 16;

/// The time limit of the current call.
#[derive(Debug)]
pub struct Budget {
    limit: Cell<Duration>,
    ticks: Cell<u32>,
    /// Wall and CPU time of the first reading in this call.
    first: Cell<Option<(Instant, Duration)>>,
    over: Cell<bool>,
}

impl Budget {
    /// A budget of zero.
    pub fn new() -> Self {
        Self { limit: Cell::default(), ticks: Cell::new(TICKS), first: Cell::default(), over: Cell::default() }
    }

    /// Starts a call.
    #[inline]
    pub fn arm(&self, limit: Duration) {
        self.limit.set(limit);
        self.ticks.set(TICKS);
        self.first.set(None);
        self.over.set(false);
    }

    /// Whether the call is within its limit. Stays false until the next call, so that a script that catches the error gets it
    /// again.
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

    /// Whether the last call exceeded its limit.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.over.get()
    }

    /// The limit of the last call.
    pub fn limit(&self) -> Duration {
        self.limit.get()
    }
}

/// The CPU time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Neither part is negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks until the limit is exceeded; returns the time taken.
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
    fn time_off_the_cpu_does_not_count() {
        let budget = Budget::new();
        budget.arm(Duration::from_millis(5));
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(6));
            assert!((0..100).all(|_| budget.lasts()));
        }
        exhaust(&budget);
    }
}
