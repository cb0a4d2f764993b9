//! Adds the counts of all load threads up to lines.
//!
//! A line is complete when every thread has sent its part of the interval, or when one has sent the next: a thread that is
//! held up delays the counts of the others by one interval at most, and its own are in a later line.

use super::counter::{Counting, Part};
use super::histogram::{Cells, RawHistogram};
use brunt_results::counts::Counts;
use std::collections::VecDeque;

/// Time of which the quantile of response times is taken.
const WINDOW_NS: u64 = 1_000_000_000;

pub struct Lines {
    quantile: f64,
    /// Zero of the run's clock, in nanoseconds of CLOCK_MONOTONIC.
    zero_ns: u64,
    threads: Vec<Thread>,
    /// End of the last line.
    end_ns: u64,
    until_ns: u64,
    count: u64,
    slow: u64,
    failed: u64,
    offered: u64,
    /// Response times of the window, each with the time of its report.
    ended: VecDeque<(u64, Cells)>,
    /// Their sum.
    window: RawHistogram,
}

#[derive(Default)]
struct Thread {
    /// Whether its part is in the line that is being made.
    has_reported: bool,
    in_flight: Cells,
    oldest_ns: u64,
}

impl Lines {
    pub fn new(counting: &Counting, threads: usize, start_ns: u64, zero_ns: u64) -> Self {
        Self {
            quantile: counting.quantile,
            zero_ns,
            threads: (0..threads).map(|_| Thread::default()).collect(),
            end_ns: start_ns,
            until_ns: start_ns,
            count: 0,
            slow: 0,
            failed: 0,
            offered: 0,
            ended: VecDeque::new(),
            window: RawHistogram::default(),
        }
    }

    /// Takes a part of one thread; returns the lines that are complete then.
    pub fn take(&mut self, thread: usize, part: Part) -> Vec<Counts> {
        let before = self.threads[thread].has_reported.then(|| self.line()).flatten();
        self.count += part.count;
        self.slow += part.slow;
        self.failed += part.failed;
        self.offered += part.offered;
        self.until_ns = self.until_ns.max(part.until_ns);
        self.window.add(&part.ended);
        self.ended.push_back((part.until_ns, part.ended));
        self.threads[thread] = Thread { has_reported: true, in_flight: part.in_flight, oldest_ns: part.oldest_ns };
        let complete = self.threads.iter().all(|thread| thread.has_reported).then(|| self.line()).flatten();
        before.into_iter().chain(complete).collect()
    }

    /// The last line, if some parts are in none.
    pub fn rest(&mut self) -> Option<Counts> {
        self.threads.iter().any(|thread| thread.has_reported).then(|| self.line()).flatten()
    }

    /// Ends the line that is being made, unless it has no length.
    fn line(&mut self) -> Option<Counts> {
        self.threads.iter_mut().for_each(|thread| thread.has_reported = false);
        let length_ns = self.until_ns.checked_sub(self.end_ns).filter(|length| *length > 0)?;
        self.end_ns = self.until_ns;
        let seconds = length_ns as f64 / 1e9;
        let (count, slow, offered) = (self.count, self.slow, self.offered);
        (self.count, self.slow, self.offered) = (0, 0, 0);
        let failed = std::mem::take(&mut self.failed);
        Some(Counts {
            end: Some((self.zero_ns + self.end_ns) as f64 / 1e9),
            seconds,
            count,
            slow,
            failed,
            latency_ms: self.latency_ns() as f64 / 1e6,
            offered: Some(offered as f64 / seconds),
            load: None,
        })
    }

    /// Quantile over the response times of the last second and the ages of requests in flight that are slow. Without any, the
    /// age of the oldest request in flight; 0 if none has been waited for.
    fn latency_ns(&mut self) -> u64 {
        let from = self.end_ns.saturating_sub(WINDOW_NS);
        while self.ended.front().is_some_and(|(until, _)| *until <= from) {
            self.ended.pop_front().iter().for_each(|(_, cells)| self.window.remove(cells));
        }
        self.threads.iter().for_each(|thread| self.window.add(&thread.in_flight));
        let quantile = self.window.quantile(self.quantile);
        self.threads.iter().for_each(|thread| self.window.remove(&thread.in_flight));
        quantile.unwrap_or_else(|| self.threads.iter().map(|thread| thread.oldest_ns).max().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    fn lines(threads: usize) -> Lines {
        let counting =
            Counting { every: 100 * Duration::from_millis(1), limit: Duration::from_millis(6), quantile: 0.5 };
        Lines::new(&counting, threads, 1000 * MS, 5000 * MS)
    }

    fn part(until_ms: u64, count: u64, ended_ms: &[u64]) -> Part {
        let mut ended = RawHistogram::default();
        ended_ms.iter().for_each(|ms| ended.record(ms * MS));
        Part { until_ns: until_ms * MS, count, offered: 2 * count, ended: ended.take(), ..Part::default() }
    }

    #[test]
    fn a_line_waits_for_all_threads_for_one_more_interval() {
        let mut lines = lines(2);
        assert!(lines.take(0, part(1100, 1, &[])).is_empty());
        let line = lines.take(1, part(1110, 2, &[]))[0];
        assert_eq!((line.count, line.end, line.offered.map(f64::round)), (3, Some(6.11), Some(55.0)));
        assert!(lines.take(0, part(1200, 4, &[])).is_empty());
        let late = lines.take(0, part(1300, 8, &[]));
        assert_eq!((late.len(), late[0].count, late[0].end), (1, 4, Some(6.2)));
        assert_eq!(lines.take(1, part(1310, 16, &[]))[0].count, 24);
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn the_quantile_is_of_the_last_second_and_of_what_is_slow_in_flight() {
        let mut lines = lines(1);
        let latency = |lines: &mut Lines, part| lines.take(0, part)[0].latency_ms.round();
        assert_eq!(latency(&mut lines, part(1100, 0, &[])), 0.0);
        assert_eq!(latency(&mut lines, Part { oldest_ns: 5 * MS, ..part(1200, 0, &[]) }), 5.0);
        assert_eq!(latency(&mut lines, part(1300, 3, &[1, 2, 3])), 2.0);
        let stalled = Part { oldest_ns: 9 * MS, in_flight: part(0, 0, &[7, 8, 9, 9]).ended, ..part(1400, 4, &[]) };
        assert_eq!(latency(&mut lines, stalled), 7.0);
        assert_eq!(latency(&mut lines, part(1500, 4, &[20; 4])), 20.0);
        assert_eq!(latency(&mut lines, part(2310, 1, &[])), 20.0);
        assert_eq!(latency(&mut lines, part(2600, 0, &[])), 0.0);
    }

    proptest! {
        #[test]
        fn every_part_is_in_one_line_and_lines_follow_each_other(
            parts in proptest::collection::vec((0usize..3, 1u64..150, 0u64..50), 0..100),
        ) {
            let (mut lines, mut until, mut sum, mut all) = (lines(3), [1000u64; 3], 0, Vec::new());
            for (thread, length, count) in parts {
                until[thread] += length;
                sum += count;
                all.extend(lines.take(thread, part(until[thread], count, &[])));
            }
            all.extend(lines.rest());
            let left = lines.count;
            prop_assert_eq!(all.iter().map(|line| line.count).sum::<u64>() + left, sum);
            let mut end = 6.0;
            for line in all {
                prop_assert!(line.seconds > 0.0 && (line.end.unwrap() - end - line.seconds).abs() < 1e-9);
                end += line.seconds;
            }
        }
    }
}
