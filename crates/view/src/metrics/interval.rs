//! One line of the series with its length, its place in time and its response times; and the sums of many.

use brunt_results::{buckets, series::Second};
use hdrhistogram::Histogram;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time of the load and of day.
#[derive(Debug)]
pub struct Clock {
    /// When the load began.
    began: SystemTime,
    /// End of the last interval, in seconds since then.
    last_s: f64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { began: SystemTime::now(), last_s: 0.0 }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Interval {
    pub second: Second,
    pub response: Times,
    /// Ends where the next one begins; in nanoseconds since 1970.
    pub start_ns: u64,
    pub end_ns: u64,
}

/// A distribution of times, in the buckets of [`buckets`].
#[derive(Debug, Clone)]
pub struct Times {
    pub counts: [u64; buckets::COUNT],
    pub sum_s: f64,
    /// Smallest and largest, in seconds; of an empty distribution `None`.
    pub range_s: Option<(f64, f64)>,
}

impl Default for Times {
    fn default() -> Self {
        Self { counts: [0; buckets::COUNT], sum_s: 0.0, range_s: None }
    }
}

impl Times {
    /// Of nanoseconds.
    fn of(times: &Histogram<u64>) -> Self {
        let count = times.len();
        let range = || (times.min() as f64 / 1e9, times.max() as f64 / 1e9);
        Self {
            counts: buckets::counts(times),
            sum_s: if count == 0 { 0.0 } else { times.mean() * count as f64 / 1e9 },
            range_s: (count > 0).then(range),
        }
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(all, more)| *all += more);
        self.sum_s += other.sum_s;
    }
}

impl Interval {
    pub fn new(second: &Second, response: &Histogram<u64>, clock: &mut Clock) -> Self {
        let began_ns = clock.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let at = |seconds: f64| began_ns + Duration::from_secs_f64(seconds.max(0.0)).as_nanos() as u64;
        let start_s = std::mem::replace(&mut clock.last_s, second.at_s);
        let (start_ns, end_ns) = (at(start_s), at(second.at_s));
        Self { second: second.clone(), response: Times::of(response), start_ns, end_ns }
    }

    /// In seconds, more than 0.
    pub fn length_s(&self) -> f64 {
        (self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9).max(1e-3)
    }

    /// `warmup`, or `window`, whose figures are those of the result.
    pub fn phase(&self) -> &'static str {
        if self.second.warmup { "warmup" } else { "window" }
    }
}

/// What a scraper is shown: the sums of each phase, and the last interval.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Only counts and times are added up.
    pub phases: Vec<Interval>,
    pub last: Option<Interval>,
    /// Intervals so far.
    pub number: u64,
}

impl Totals {
    pub fn add(&mut self, interval: &Interval) {
        let place = self.phases.iter().position(|phase| phase.phase() == interval.phase()).unwrap_or_else(|| {
            let second = Second { warmup: interval.second.warmup, ..Second::default() };
            self.phases.push(Interval { second, ..Interval::default() });
            self.phases.len() - 1
        });
        let Interval { second, response, .. } = &mut self.phases[place];
        second.sent += interval.second.sent;
        second.completed += interval.second.completed;
        second.failed += interval.second.failed;
        if let Some(more) = interval.second.offered {
            *second.offered.get_or_insert(0) += more;
        }
        response.add(&interval.response);
        self.last = Some(interval.clone());
        self.number += 1;
    }
}
