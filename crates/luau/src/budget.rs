//! The time that a call may take. Never reads the clock more often than it must: it is asked at every call, return and
//! loop of a script.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// Between two looks at the clock: few enough that a script whose every step is slow is still ended in time.
const TICKS: u32 = 16;

/// What is left of a call's time.
#[derive(Debug)]
pub struct Budget {
    deadline: Cell<Option<Instant>>,
    limit: Cell<Duration>,
    ticks: Cell<u32>,
    over: Cell<bool>,
}

impl Budget {
    /// No call, no limit.
    pub fn new() -> Self {
        Self {
            deadline: Cell::new(None),
            limit: Cell::new(Duration::ZERO),
            ticks: Cell::new(TICKS),
            over: Cell::new(false),
        }
    }

    /// Begins a call that may last until `limit` after `start`.
    pub fn arm(&self, start: Instant, limit: Duration) {
        self.deadline.set(start.checked_add(limit));
        self.limit.set(limit);
        self.ticks.set(TICKS);
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
        if self.over.get() || self.deadline.get().is_some_and(|deadline| Instant::now() > deadline) {
            self.over.set(true);
            return false;
        }
        self.ticks.set(TICKS);
        true
    }

    /// Whether the last call was ended.
    pub fn is_over(&self) -> bool {
        self.over.get()
    }

    /// How long the last call might have taken.
    pub fn limit(&self) -> Duration {
        self.limit.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_over_it_stays_over_until_the_next_call() {
        let budget = Budget::new();
        assert!((0..100).all(|_| budget.lasts()), "no call, no limit");
        let start = Instant::now();
        budget.arm(start, Duration::from_nanos(1));
        while start.elapsed() < Duration::from_micros(1) {}
        let lasted = (0..100).filter(|_| budget.lasts()).count();
        assert_eq!(lasted, TICKS as usize, "the clock is looked at every {TICKS} times");
        assert!(budget.is_over());
        budget.arm(Instant::now(), Duration::from_secs(3600));
        assert!((0..100).all(|_| budget.lasts()) && !budget.is_over());
    }
}
