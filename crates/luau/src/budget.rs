//! The time limit of a call, in CPU time of the thread, so that a busy machine does not make calls fail.
//!
//! Checked at every call, return and loop of a script. Clocks are read on every 16th check only; the CPU clock, a system
//! call, on the first of these and after the wall time has exceeded the limit.

use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Checks between two readings of the clock; few, to limit scripts whose single steps are slow.
const TICKS: u32 = 16;

/// The time limit of the current call.
#[derive(Debug, Default)]
pub struct Budget {
    pub limit: Cell<Duration>,
    ticks: Cell<u32>,
    /// Wall and CPU time of the first reading in this call.
    first: Cell<Option<(Instant, Duration)>>,
    /// Whether the last call exceeded its limit.
    pub exceeded: Cell<bool>,
}

impl Budget {
    #[inline]
    pub fn arm(&self, limit: Duration) {
        self.limit.set(limit);
        self.ticks.set(TICKS);
        self.first.set(None);
        self.exceeded.set(false);
    }

    /// Whether the call is within its limit. Stays false until the next call, so that a script that catches the error gets it
    /// again.
    #[inline]
    pub fn check(&self) -> bool {
        match self.ticks.get() {
            0 => self.read_clock(),
            ticks => {
                self.ticks.set(ticks - 1);
                true
            }
        }
    }

    #[inline(never)]
    fn read_clock(&self) -> bool {
        if self.exceeded.get() {
            return false;
        }
        let (now, limit) = (Instant::now(), self.limit.get());
        match self.first.get() {
            None => self.first.set(Some((now, thread_time()))),
            Some((first, used)) => {
                if now.saturating_duration_since(first) > limit && thread_time().saturating_sub(used) > limit {
                    self.exceeded.set(true);
                    return false;
                }
            }
        }
        self.ticks.set(TICKS);
        true
    }
}

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
        while budget.check() {}
        thread_time() - before
    }

    #[test]
    fn an_exceeded_budget_stays_exceeded_until_the_next_call() {
        let budget = Budget::default();
        let limit = Duration::from_millis(5);
        for _ in 0..3 {
            budget.arm(limit);
            assert!(!budget.exceeded.get());
            let took = exhaust(&budget);
            assert!(took >= limit, "{took:?}");
            assert!(budget.exceeded.get() && (0..100).all(|_| !budget.check()));
        }
    }

    #[test]
    fn time_off_the_cpu_does_not_count() {
        let budget = Budget::default();
        // More than a virtual machine's pauses, some of which count as CPU time.
        for _ in 0..3 {
            budget.arm(Duration::from_millis(200));
            std::thread::sleep(Duration::from_millis(210));
            assert!((0..100).all(|_| budget.check()));
        }
        exhaust(&budget);
    }
}
