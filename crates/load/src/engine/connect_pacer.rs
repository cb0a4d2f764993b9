//! Limits the connect rate by default to the target's accept rate.
//!
//! A listener with a full queue drops connection attempts, which the kernel repeats after a second (RFC 6298), so
//! connecting too fast takes longer. An attempt that takes that long halves the pace; each faster one raises it a little.
//! Pure: times are arguments.

use crate::schedule::Share;
use std::cell::{Cell, RefCell};

/// Shortest duration of an attempt that was dropped at least once.
const DROPPED_NS: u64 = 700_000_000;
/// Time after a halving in which further dropped attempts count as the same overrun.
const GRACE_NS: u64 = 900_000_000;
/// Factor of the gap after a fast attempt: halves it after about seven hundred.
const EASING: f64 = 0.999;
const MIN_GAP_NS: f64 = 5_000.0;
/// At least ten attempts a second.
const MAX_GAP_NS: f64 = 1e8;

/// Times of attempts of a thread during the load: its part of the connect rate, else as fast as the target accepts.
pub struct Pace {
    pub pacer: RefCell<ConnectPacer>,
    gap_ns: Option<f64>,
    next_ns: Cell<u64>,
}

impl Pace {
    pub fn new(connect_rate: Option<f64>, share: Share) -> Self {
        let gap_ns = connect_rate.map(|rate| 1e9 / rate * share.threads as f64);
        Self { pacer: RefCell::default(), gap_ns, next_ns: Cell::new(0) }
    }

    /// When the next attempt may begin; `None` if it may at once.
    pub fn due(&self, now_ns: u64) -> Option<u64> {
        let Some(gap_ns) = self.gap_ns else { return self.pacer.borrow_mut().due(now_ns) };
        let due = self.next_ns.get().max(now_ns);
        self.next_ns.set(due + gap_ns as u64);
        Some(due)
    }
}

#[derive(Debug, Default)]
pub struct ConnectPacer {
    gap_ns: f64,
    last_ns: u64,
    first_ns: Option<u64>,
    /// Attempts that were not dropped, and when the last of them ended.
    fast: u64,
    fast_until_ns: u64,
    grace_ns: u64,
}

impl ConnectPacer {
    /// When the next attempt may begin; `None` if it may at once.
    pub fn due(&mut self, now_ns: u64) -> Option<u64> {
        self.first_ns.get_or_insert(now_ns);
        let due = self.last_ns + self.gap_ns as u64;
        self.last_ns = due.max(now_ns);
        (due > now_ns).then_some(due)
    }

    pub fn ended(&mut self, now_ns: u64, took_ns: u64) {
        if took_ns < DROPPED_NS {
            (self.fast, self.fast_until_ns) = (self.fast + 1, now_ns);
            self.gap_ns *= EASING;
            if self.gap_ns < MIN_GAP_NS {
                self.gap_ns = 0.0;
            }
        } else if now_ns >= self.grace_ns {
            self.grace_ns = now_ns + GRACE_NS;
            self.gap_ns = (2.0 * if self.gap_ns > 0.0 { self.gap_ns } else { self.mean_ns() }).min(MAX_GAP_NS);
        }
    }

    /// Mean time between attempts that were not dropped, until the last of them: without the second in which all attempts
    /// waited because they were dropped, which says nothing about the target's rate. Zero if there were none.
    fn mean_ns(&self) -> f64 {
        let took_ns = self.fast_until_ns.saturating_sub(self.first_ns.unwrap_or(self.fast_until_ns));
        took_ns as f64 / self.fast.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Time between two attempts that are both started now.
    fn gap(pacer: &mut ConnectPacer, now: u64) -> u64 {
        let first = pacer.due(now).unwrap_or(now);
        pacer.due(now).unwrap_or(now) - first
    }

    #[test]
    fn attempts_are_not_delayed_before_one_is_dropped() {
        let mut pacer = ConnectPacer::default();
        for at_ns in (0..1000).map(|attempt| attempt * MS / 100) {
            assert_eq!(pacer.due(at_ns), None);
            pacer.ended(at_ns, 100_000);
        }
    }

    #[test]
    fn an_overrun_halves_the_pace_once_and_fast_attempts_restore_it() {
        let mut pacer = ConnectPacer::default();
        let start = 5_000 * MS;
        for number in 0..1000 {
            assert_eq!(pacer.due(start + number * MS), None);
            pacer.ended(start + number * MS, MS);
        }
        // One each millisecond so far, and now a hundred dropped ones succeed.
        let now = start + 1000 * MS;
        (0..100).for_each(|_| pacer.ended(now, 1000 * MS));
        let short = gap(&mut pacer, now);
        assert!((19 * MS / 10..=21 * MS / 10).contains(&short), "{short}");
        // A second overrun, later, halves it once more.
        pacer.ended(now + 1000 * MS, 1000 * MS);
        let later = now + 2000 * MS;
        let longer = gap(&mut pacer, later);
        assert!((39 * MS / 10..=41 * MS / 10).contains(&longer), "{longer}");
        (0..10_000).for_each(|_| pacer.ended(later, MS));
        assert_eq!(gap(&mut pacer, later + 1000 * MS), 0);
    }

    /// All attempts of a thread wait a second for a target that had paused; the target is as fast as before.
    #[test]
    fn a_pause_of_the_target_delays_the_attempts_after_it_by_a_moment() {
        for fast in [0, 1, 1000] {
            let mut pacer = ConnectPacer::default();
            let mut now = 5_000 * MS;
            for _ in 0..fast {
                assert_eq!(pacer.due(now), None);
                now += MS / 20;
                pacer.ended(now, MS);
            }
            pacer.due(now);
            now += 1000 * MS;
            (0..128).for_each(|_| pacer.ended(now, 1000 * MS));
            let began = now;
            for _ in 0..10_000 {
                now = now.max(pacer.due(now).unwrap_or(now)) + MS / 20;
                pacer.ended(now, MS);
            }
            let took = (now - began) / MS;
            assert!(took < 650, "{fast} fast attempts, then 10,000 in {took} ms");
        }
    }

    #[test]
    fn the_gap_has_an_upper_bound() {
        let mut pacer = ConnectPacer::default();
        pacer.due(0);
        pacer.ended(MS, MS);
        for second in 1..200 {
            pacer.due(second * 1000 * MS);
            pacer.ended(second * 1000 * MS, 1000 * MS);
        }
        let now = 300_000 * MS;
        assert_eq!(gap(&mut pacer, now), 100 * MS);
    }
}
