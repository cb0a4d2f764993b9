//! What counts of requests say about the share of slow ones.

use crate::readings::{Newest, RESOLUTION, Reading, Requests};
use std::collections::VecDeque;
use std::time::Duration;

/// Requests, and those of them that were slow or failed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    pub count: u64,
    pub slow: u64,
    /// Of the slow ones, failed within the limit.
    pub failed: u64,
}

impl Counts {
    pub fn of(requests: Requests) -> Self {
        let mut counts = Self::default();
        counts.add(requests);
        counts
    }

    pub fn add(&mut self, requests: Requests) {
        self.count += requests.count;
        self.slow += requests.slow.min(requests.count);
        self.failed += requests.failed.min(requests.slow).min(requests.count);
    }

    /// Without those that failed within the limit, which are no latency.
    pub fn answered(self) -> Self {
        Self { count: self.count - self.failed, slow: self.slow - self.failed, failed: 0 }
    }

    /// Share of those that failed within the limit.
    pub fn failed_share(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.failed as f64 / self.count as f64 }
    }

    pub fn share(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.slow as f64 / self.count as f64 }
    }

    /// Interval of the share of slow requests after Wilson (1927), `z` standard deviations wide on either side; 0 to 1 without
    /// requests.
    pub fn interval(self, z: f64) -> (f64, f64) {
        if self.count == 0 {
            return (0.0, 1.0);
        }
        let (n, share, square) = (self.count as f64, self.share(), z * z);
        let middle = share + square / (2.0 * n);
        let half = z * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
        let scale = 1.0 + square / n;
        (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
    }
}

/// Windows in which more of the answered requests were slow than the budget allows, among all; and the share of slow requests in them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Over {
    pub over: usize,
    pub windows: usize,
    pub share: f64,
}

/// Requests of the last seconds.
#[derive(Debug, Clone, Default)]
pub struct Window {
    windows: VecDeque<(f64, Requests)>,
    newest: Newest,
    /// Windows that began earlier do not count.
    from: f64,
}

impl Window {
    /// Adds a reading, if it is newer than those before. Returns the begin of its window in seconds, if it was added.
    pub fn add(&mut self, now: Duration, reading: Reading<Requests>) -> Option<f64> {
        let end = self.newest.end(now.as_secs_f64(), &reading)?;
        let begin = end - reading.value.seconds;
        (begin >= self.from - RESOLUTION).then(|| {
            self.windows.push_back((end, reading.value));
            begin
        })
    }

    /// Forgets what ended longer than this ago.
    pub fn keep(&mut self, now: Duration, length: Duration) {
        let oldest = now.saturating_sub(length).as_secs_f64();
        while self.windows.front().is_some_and(|(end, _)| *end < oldest) {
            self.windows.pop_front();
        }
    }

    /// Forgets all windows, also those yet to come that began before.
    pub fn restart(&mut self, now: Duration) {
        self.windows.clear();
        self.from = now.as_secs_f64();
    }

    pub fn counts(&self) -> Counts {
        self.sum(f64::NEG_INFINITY)
    }

    /// Of windows that began at this time or later.
    pub fn counts_from(&self, begin: Duration) -> Counts {
        self.sum(begin.as_secs_f64())
    }

    /// Seconds, of those since this time, in whose windows a share above `budget` of the answered requests was slow.
    pub fn seconds_over(&self, budget: f64, begin: Duration) -> f64 {
        let over = self.since(begin.as_secs_f64()).filter(|requests| is_over(requests, budget));
        over.map(|requests| requests.seconds).sum()
    }

    pub fn over(&self, budget: f64) -> Over {
        let mut slow = Counts::default();
        let over = self.windows.iter().filter(|(_, requests)| is_over(requests, budget));
        let over = over.inspect(|(_, requests)| slow.add(*requests)).count();
        Over { over, windows: self.windows.len(), share: slow.answered().share() }
    }

    /// For how many seconds, up to the newest window, a share above `budget` of the answered requests has been slow in every window.
    pub fn over_for(&self, budget: f64) -> f64 {
        self.seconds_while(f64::NEG_INFINITY, |requests| is_over(requests, budget))
    }

    /// For how many seconds, up to the newest window and not before this time, no request has come.
    pub fn quiet_for(&self, from: Duration) -> f64 {
        self.seconds_while(from.as_secs_f64(), |requests| requests.count == 0)
    }

    /// For how many seconds, up to the newest window, a share above `budget` has failed within the limit in every window.
    pub fn failing_for(&self, budget: f64) -> f64 {
        let is_failing = |requests: &Requests| requests.failed as f64 > budget * requests.count as f64;
        self.seconds_while(f64::NEG_INFINITY, is_failing)
    }

    /// Length of the newest windows in a row that are so, of those that began at this time or later.
    fn seconds_while(&self, from: f64, is_so: impl Fn(&Requests) -> bool) -> f64 {
        self.since(from).take_while(|requests| is_so(requests)).map(|requests| requests.seconds).sum()
    }

    fn sum(&self, from: f64) -> Counts {
        let mut counts = Counts::default();
        self.since(from).for_each(|requests| counts.add(*requests));
        counts
    }

    /// The requests of windows that began at this time or later, newest first.
    fn since(&self, from: f64) -> impl Iterator<Item = &Requests> {
        let later = self.windows.iter().rev();
        later
            .take_while(move |(end, requests)| end - requests.seconds >= from - RESOLUTION)
            .map(|(_, requests)| requests)
    }
}

/// Whether more of the answered requests were slow than the budget allows.
pub fn is_over(requests: &Requests, budget: f64) -> bool {
    let Counts { count, slow, .. } = Counts::of(*requests).answered();
    slow as f64 > budget * count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_hold_the_share_and_narrow_with_more_requests(count in 1..100_000u64, part in 0.0..=1.0f64, z in 0.5..4.0f64) {
            let of = |count: u64| Counts { count, slow: (count as f64 * part) as u64, failed: 0 };
            let (few, many) = (of(count), of(count * 10));
            let ((low, high), narrower) = (few.interval(z), many.interval(z));
            prop_assert!((0.0..=few.share() + 1e-12).contains(&low) && (few.share() - 1e-12..=1.0).contains(&high));
            prop_assert!(narrower.1 - narrower.0 <= high - low + 1e-12);
        }
    }

    #[test]
    fn windows_that_began_before_a_restart_do_not_count() {
        let (mut window, at) = (Window::default(), Duration::from_millis);
        let requests = Requests { seconds: 0.1, count: 10, ..Requests::default() };
        window.restart(at(1000));
        for (now, count) in [(1050, 0), (1099, 10), (1200, 20)] {
            window.add(at(now), Reading { value: requests, age: 0.0 });
            assert_eq!(window.counts().count, count, "{now}");
        }
    }

    #[test]
    fn a_burst_is_told_from_what_lasts() {
        let mut window = Window::default();
        let mut add = |tenth: u64, slow| {
            let value = Requests { seconds: 0.1, count: 100, slow, ..Requests::default() };
            window.add(Duration::from_millis(100 * tenth), Reading { value, age: 0.0 });
            (window.over_for(0.01), window.seconds_over(0.01, Duration::ZERO))
        };
        let near = |(one, other): (f64, f64), wanted: (f64, f64)| {
            assert!((one - wanted.0).abs() < 1e-9 && (other - wanted.1).abs() < 1e-9, "{one} {other} {wanted:?}");
        };
        near(add(1, 2), (0.1, 0.1));
        near(add(2, 0), (0.0, 0.1));
        near(add(3, 5), (0.1, 0.2));
        near(add(4, 5), (0.2, 0.3));
        near(add(5, 1), (0.0, 0.3));
    }

    #[test]
    fn a_repeated_reading_counts_once_and_old_ones_leave() {
        let (mut window, requests) = (Window::default(), Requests { count: 10, slow: 1, ..Requests::default() });
        let at = Duration::from_millis;
        for tick in 0..10 {
            window.add(at(1000 + 20 * tick), Reading { value: requests, age: 0.02 * tick as f64 });
        }
        assert_eq!(window.counts(), Counts { count: 10, slow: 1, failed: 0 });
        window.add(at(2000), Reading { value: requests, age: 0.1 });
        window.keep(at(2000), Duration::from_millis(500));
        assert_eq!(window.counts(), Counts { count: 10, slow: 1, failed: 0 });
    }
}
