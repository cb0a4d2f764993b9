//! The clock of a world: nanoseconds since its start, and the host's script of pauses and slowness.
//!
//! Invariants:
//! - While a worker runs, the clock is that worker's: what it does is at a time from its start to its end.
//! - Never moves backwards for one worker, and no worker runs within a pause.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

pub(crate) fn nanos(duration: Duration) -> u64 {
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos().into()).min(u64::MAX / 4)
}

/// An interval in which the host stands still (`factor` 0) or work costs `factor` times as much.
#[derive(Debug, Clone, Copy)]
struct Interval {
    from: u64,
    to: u64,
    factor: u64,
}

pub(crate) struct Clock {
    base: Instant,
    now: Cell<u64>,
    /// What a reading of the clock, a poll of a task and a system call cost.
    pub read: Cell<u64>,
    pub poll: Cell<u64>,
    pub call: Cell<u64>,
    /// Sorted by start.
    script: RefCell<Vec<Interval>>,
    /// Start of the first interval that ends after `now`; `u64::MAX` without one.
    next: Cell<u64>,
}

impl Clock {
    pub fn new() -> Self {
        Self {
            base: Instant::now(),
            now: Cell::new(0),
            read: Cell::new(0),
            poll: Cell::new(0),
            call: Cell::new(0),
            script: RefCell::default(),
            next: Cell::new(u64::MAX),
        }
    }

    pub fn elapsed(&self) -> u64 {
        self.now.get()
    }

    /// The time as the program sees it. Reading it takes time.
    pub fn instant(&self) -> Instant {
        self.spend(self.read.get());
        self.base + Duration::from_nanos(self.now.get())
    }

    /// Nanoseconds since the start of the world.
    pub fn since_start(&self, at: Instant) -> u64 {
        nanos(at.saturating_duration_since(self.base))
    }

    pub fn add(&self, from: u64, to: u64, factor: u64) {
        let mut script = self.script.borrow_mut();
        script.push(Interval { from, to, factor });
        script.sort_by_key(|interval| interval.from);
        drop(script);
        self.find_next();
    }

    fn find_next(&self) {
        let now = self.now.get();
        let next = self.script.borrow().iter().filter(|interval| interval.to > now).map(|interval| interval.from).min();
        self.next.set(next.unwrap_or(u64::MAX));
    }

    /// Sets the clock to the time of an event or of a worker.
    pub fn set(&self, to: u64) {
        self.now.set(to);
        if !self.script.borrow().is_empty() {
            self.find_next();
        }
    }

    /// The first time from `at` on that is in no pause.
    pub fn after_pauses(&self, mut at: u64) -> u64 {
        for interval in self.script.borrow().iter().filter(|interval| interval.factor == 0) {
            if interval.from <= at && at < interval.to {
                at = interval.to;
            }
        }
        at
    }

    /// Work of that cost.
    #[inline]
    pub fn spend(&self, cost: u64) {
        let end = self.now.get() + cost;
        if end < self.next.get() {
            return self.now.set(end);
        }
        self.spend_slowly(cost);
    }

    #[cold]
    fn spend_slowly(&self, mut cost: u64) {
        let mut now = self.now.get();
        for &Interval { from, to, factor } in self.script.borrow().iter() {
            if to <= now {
                continue;
            }
            let before = from.saturating_sub(now).min(cost);
            (now, cost) = (now + before, cost - before);
            if now < from {
                break;
            }
            now = now.max(from);
            if factor == 0 {
                now = now.max(to);
                continue;
            }
            let within = cost.min((to.saturating_sub(now)).div_ceil(factor));
            (now, cost) = (now + within * factor, cost - within);
        }
        self.set(now + cost);
    }

    /// The worker does nothing else until then.
    pub fn busy_until(&self, to: Instant) {
        self.spend(self.since_start(to).saturating_sub(self.now.get()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_stands_still_in_a_pause_and_takes_longer_in_a_slow_interval() {
        let clock = Clock::new();
        clock.add(100, 150, 0);
        clock.add(200, 300, 10);
        clock.spend(90);
        assert_eq!(clock.elapsed(), 90);
        clock.spend(20);
        assert_eq!(clock.elapsed(), 160, "10 before the pause, 50 in it, 10 after it");
        clock.spend(45);
        assert_eq!(clock.elapsed(), 250, "40 before the interval, 5 in it");
        clock.spend(10);
        assert_eq!(clock.elapsed(), 305, "5 in it, 5 after it");
        assert_eq!([99, 100, 149, 150].map(|at| clock.after_pauses(at)), [99, 150, 150, 150]);
    }
}
