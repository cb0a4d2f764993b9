//! The shape of an open loop: how requests were sent, beside what the schedule asked for, and how long connections rested.

use super::few_steps::FewSteps;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A send is close to the one before it on its thread within this time, in nanoseconds.
pub const CLOSE_NS: u64 = 10_000;
/// Percentage points by which the share of close sends may exceed that of the schedule, and percentage of the sends that
/// may follow another one in their wake-up.
pub const CLUMPED_POINTS: f64 = 10.0;

/// Why a closed loop has no [`Sends`].
pub const CLOSED_LOOP_SENDS: &str = "a closed loop has no schedule: each request follows a reply";

/// How requests of an open loop were sent in the window. Those that had waited for a connection are left out: the target decides
/// when they are sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sends {
    /// Requests that were sent when they were due, or late by the generator's own fault.
    pub count: u64,
    /// Moments at which a load thread looked at its schedule and at least one of them was due. All that are due then are sent one after
    /// another.
    pub wakeups: u64,
    /// Mean number of requests that were due at a wake-up.
    pub per_wakeup_mean: f64,
    /// Number of requests that 99 % of the wake-ups do not exceed; exact up to 32, above it to 3 %.
    pub per_wakeup_p99: f64,
    /// Requests sent within 10 us of the one before on the same thread, in percent.
    pub close_percent: f64,
    /// Requests that the schedule of their thread asked for within 10 us of the one before, in percent.
    pub scheduled_close_percent: f64,
    /// Whether requests were sent in clumps that the schedule did not ask for: `close_percent` exceeds `scheduled_close_percent` by more
    /// than 10 points, and more than 10 % of the requests followed another one in their wake-up.
    pub clumped: bool,
    /// How long a connection had been idle when it took its next request; absent if none was.
    #[serde(default)]
    pub rest: Option<Rest>,
}

/// Time from the reply on a connection, or from its opening, to the next request that it takes, since the load began; in
/// microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rest {
    pub mean_us: f64,
    /// Within 3 %.
    pub p50_us: f64,
    pub max_us: f64,
}

/// What a load thread counts of its sends, and sums of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendCounts {
    pub sent: u64,
    pub close: u64,
    /// Requests that the schedule gave to connections with capacity.
    pub scheduled: u64,
    pub scheduled_close: u64,
    /// Wake-ups by the number of requests that were due.
    pub wakeups: FewSteps,
    /// Rests in microseconds.
    pub rests: FewSteps,
    pub rest_ns: u64,
    pub longest_rest_ns: u64,
}

impl SendCounts {
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.close += other.close;
        self.scheduled += other.scheduled;
        self.scheduled_close += other.scheduled_close;
        self.wakeups.add(&other.wakeups);
        self.rests.add(&other.rests);
        self.rest_ns += other.rest_ns;
        self.longest_rest_ns = self.longest_rest_ns.max(other.longest_rest_ns);
    }

    /// A connection takes a request after so long without one.
    #[inline]
    pub fn rested(&mut self, rest_ns: u64) {
        self.rests.record(rest_ns / 1000);
        self.rest_ns += rest_ns;
        self.longest_rest_ns = self.longest_rest_ns.max(rest_ns);
    }

    /// `None` if none was sent without waiting for a connection.
    pub fn sends(&self) -> Option<Sends> {
        let (wakeups, rests) = (self.wakeups.count(), self.rests.count());
        let percent = |part: u64, all: u64| if all > 0 { 100.0 * part as f64 / all as f64 } else { 0.0 };
        let close_percent = percent(self.close, self.sent);
        let scheduled_close_percent = percent(self.scheduled_close, self.scheduled);
        let followed_percent = percent(self.scheduled.saturating_sub(wakeups), self.scheduled);
        let rest = self.rests.quantile(0.5).map(|p50| Rest {
            mean_us: self.rest_ns as f64 / 1e3 / rests as f64,
            p50_us: (p50 as f64).min(self.longest_rest_ns as f64 / 1e3),
            max_us: self.longest_rest_ns as f64 / 1e3,
        });
        (self.sent > 0 && wakeups > 0).then(|| Sends {
            count: self.sent,
            wakeups,
            per_wakeup_mean: self.scheduled as f64 / wakeups as f64,
            per_wakeup_p99: self.wakeups.quantile(0.99).unwrap_or_default() as f64,
            close_percent,
            scheduled_close_percent,
            clumped: close_percent - scheduled_close_percent > CLUMPED_POINTS && followed_percent > CLUMPED_POINTS,
            rest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1000 requests, so many in wake-ups of `each`, and so many of them close.
    fn counts(each: u64, close: u64, scheduled_close: u64) -> SendCounts {
        let mut counts = SendCounts { sent: 1000, close, scheduled: 1000, scheduled_close, ..SendCounts::default() };
        (0..1000 / each).for_each(|_| counts.wakeups.record(each));
        counts
    }

    #[test]
    fn clumps_are_more_close_sends_than_the_schedule_has_made_by_wake_ups_with_several() {
        let is_clumped = |each, close, scheduled| counts(each, close, scheduled).sends().unwrap().clumped;
        assert!(is_clumped(2, 500, 0) && is_clumped(2, 101, 0) && is_clumped(2, 501, 400));
        assert!(!is_clumped(2, 100, 0) && !is_clumped(2, 500, 400));
        // Gaps of the schedule that are hardly longer than 10 us become shorter by jitter, one request at a time.
        assert!(!is_clumped(1, 450, 0));
    }

    #[test]
    fn sums_have_the_shape_of_all() {
        assert_eq!(SendCounts::default().sends(), None);
        let (mut sum, mut more) = (counts(1, 0, 0), counts(10, 900, 100));
        sum.rested(2_000_000);
        more.rested(4_000_000);
        sum.add(&more);
        let sends = sum.sends().unwrap();
        assert_eq!((sends.count, sends.wakeups, sends.per_wakeup_p99), (2000, 1100, 10.0));
        assert_eq!((sends.close_percent, sends.scheduled_close_percent), (45.0, 5.0));
        let Rest { mean_us, p50_us, max_us } = sends.rest.unwrap();
        assert_eq!((mean_us, max_us), (3000.0, 4000.0));
        assert!((p50_us / 2000.0 - 1.0).abs() < 0.04, "{p50_us}");
    }
}
