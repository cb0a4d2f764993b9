//! Counts of one load thread in the intervals of [`Counting`].
//!
//! Each request counts once: when it ends, or when it becomes slow and has not ended. A walk over the requests in flight at the
//! end of each interval finds the latter. It leaves no mark on them: a request counts in flight if it was intended before the
//! edge, which is the limit before the walk, and not before the edge of the walk before; and one that ends counts unless it
//! was intended before the edge of the last walk.
//!
//! Time in which the generator was held up is taken off the age of a request: what it delays is not the target's doing.

use super::histogram::{Cells, RawHistogram};
use crate::schedule::Schedule;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::{mem, time::Duration};

/// A generator that sends a request later than this was held up: what was in flight meanwhile may be older than the target made
/// it. Times longer than `LONG_NS` do not count: a generator that is always late measures nothing.
const LATE_NS: u64 = 1_000_000;
const LONG_NS: u64 = 50_000_000;
/// Most times that are kept; those of the last second or so.
const HELD_UP: usize = 64;

/// Steps in which the ages of requests that are due and have no connection are counted.
const STEPS: u64 = 100;

/// How requests are counted in short intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Counting {
    /// Length of an interval.
    pub every: Duration,
    /// A request that takes longer is slow.
    pub limit: Duration,
    /// Between 0 and 1; of the response times of the last second.
    pub quantile: f64,
}

pub struct Counter {
    limit_ns: u64,
    every_ns: u64,
    start_ns: u64,
    /// When the interval is over; `u64::MAX` before the load.
    pub next_ns: u64,
    /// Requests intended before have counted.
    edge_ns: u64,
    count: u64,
    slow: u64,
    failed: u64,
    /// Response times of requests that have ended, failures within the limit excepted: a fast refusal must not improve a
    /// quantile.
    ended: RawHistogram,
    /// Ages of a walk; empty otherwise.
    in_flight: RawHistogram,
    schedules: Option<Schedules>,
    /// When the generator was held up: from and until, newest last, apart from each other.
    held_up: VecDeque<[u64; 2]>,
}

/// Clones of the thread's schedule.
struct Schedules {
    /// Taken as far as requests are due.
    offered: Schedule,
    /// Taken as far as requests were sent or are slow.
    slow: Schedule,
}

/// Counts of one thread in an interval.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Part {
    /// End of the interval on the run's clock.
    pub until_ns: u64,
    pub count: u64,
    pub slow: u64,
    /// Of these, failed within the limit.
    pub failed: u64,
    pub offered: u64,
    /// Response times of requests that ended in it.
    pub ended: Cells,
    /// Ages of requests in flight at its end that are slow.
    pub in_flight: Cells,
    /// Age of the oldest request in flight at its end; 0 without one.
    pub oldest_ns: u64,
}

/// The walk over the requests in flight at the end of an interval.
pub struct Walk<'c> {
    counter: &'c mut Counter,
    now_ns: u64,
    /// Requests intended before are slow.
    edge_ns: u64,
    has_slow: bool,
    oldest_ns: u64,
}

impl Counter {
    pub fn new(counting: &Counting, schedule: Option<&Schedule>) -> Self {
        Self {
            limit_ns: counting.limit.as_nanos() as u64,
            every_ns: counting.every.as_nanos() as u64,
            start_ns: 0,
            next_ns: u64::MAX,
            edge_ns: 0,
            count: 0,
            slow: 0,
            failed: 0,
            ended: RawHistogram::default(),
            in_flight: RawHistogram::default(),
            schedules: schedule.map(|schedule| Schedules { offered: schedule.clone(), slow: schedule.clone() }),
            held_up: VecDeque::new(),
        }
    }

    /// The generator sends a request now which it should have sent at `base_ns`.
    #[inline]
    pub fn sent(&mut self, base_ns: u64, now_ns: u64) {
        if now_ns - base_ns > LATE_NS {
            self.late(base_ns, now_ns);
        }
    }

    #[cold]
    fn late(&mut self, base_ns: u64, now_ns: u64) {
        match self.held_up.back_mut() {
            Some(last) if base_ns <= last[1] => last[1] = last[1].max(now_ns),
            _ => self.held_up.push_back([base_ns, now_ns]),
        }
        if self.held_up.len() > HELD_UP {
            self.held_up.pop_front();
        }
    }

    /// Times that count, newest first.
    fn delays(&self) -> impl Iterator<Item = [u64; 2]> {
        self.held_up.iter().rev().copied().filter(|[from, until]| until - from <= LONG_NS)
    }

    /// What the target made of a response time that is above the limit.
    #[cold]
    fn without_delays(&self, intended_ns: u64, now_ns: u64) -> u64 {
        let overlap = |[from, until]: [u64; 2]| until.min(now_ns).saturating_sub(from.max(intended_ns));
        now_ns - intended_ns - self.delays().map(overlap).sum::<u64>()
    }

    /// What was intended before is slow now.
    fn edge(&self, now_ns: u64) -> u64 {
        let (mut left, mut at_ns) = (self.limit_ns, now_ns);
        for [from, until] in self.delays() {
            let between = at_ns.saturating_sub(until);
            if between > left {
                break;
            }
            left -= between;
            at_ns = at_ns.min(from);
        }
        at_ns.saturating_sub(left)
    }

    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.next_ns = start_ns + self.every_ns;
    }

    #[inline]
    pub fn ended(&mut self, now_ns: u64, intended_ns: u64, failed: bool) {
        let mut response_ns = now_ns.saturating_sub(intended_ns);
        if response_ns > self.limit_ns && !self.held_up.is_empty() {
            response_ns = self.without_delays(intended_ns, now_ns);
        }
        let is_slow = response_ns > self.limit_ns;
        if is_slow || !failed {
            self.ended.record(response_ns);
        }
        if intended_ns >= self.edge_ns {
            self.count += 1;
            self.slow += u64::from(is_slow || failed);
            self.failed += u64::from(failed && !is_slow);
        }
    }

    /// Begins the walk that ends the interval.
    pub fn walk(&mut self, now_ns: u64) -> Walk<'_> {
        let passed = now_ns.saturating_sub(self.start_ns) / self.every_ns + 1;
        self.next_ns = self.start_ns + passed * self.every_ns;
        let edge_ns = self.edge(now_ns).max(self.edge_ns);
        Walk { counter: self, now_ns, edge_ns, has_slow: false, oldest_ns: 0 }
    }

    /// What is left when the load is over and no request is in flight: requests of the schedule that were due before `close_ns`
    /// and never sent are slow.
    pub fn rest(&mut self, now_ns: u64, schedule: Option<&Schedule>, close_ns: u64) -> Part {
        Walk { edge_ns: u64::MAX, ..self.walk(now_ns) }.end(schedule, close_ns)
    }
}

impl Walk<'_> {
    /// A request that has been taken from the schedule is in flight.
    #[inline]
    pub fn visit(&mut self, intended_ns: u64) {
        let age = self.now_ns.saturating_sub(intended_ns);
        self.oldest_ns = self.oldest_ns.max(age);
        if intended_ns < self.edge_ns {
            self.has_slow = true;
            self.counter.in_flight.record(age);
            if intended_ns >= self.counter.edge_ns {
                self.counter.count += 1;
                self.counter.slow += 1;
            }
        }
    }

    /// The counts of the interval. Requests that `schedule` has left, due by now and before `close_ns`, are in flight too.
    pub fn end(mut self, schedule: Option<&Schedule>, close_ns: u64) -> Part {
        let offered = schedule.map(|schedule| self.visit_waiting(schedule, self.now_ns.min(close_ns)));
        let Self { counter, now_ns, edge_ns, has_slow, oldest_ns } = self;
        counter.edge_ns = edge_ns;
        let (count, slow) = (mem::take(&mut counter.count), mem::take(&mut counter.slow));
        let failed = mem::take(&mut counter.failed);
        Part {
            until_ns: now_ns,
            count,
            slow,
            failed,
            offered: offered.unwrap_or(count),
            ended: counter.ended.take(),
            in_flight: if has_slow { counter.in_flight.take() } else { Cells::default() },
            oldest_ns,
        }
    }

    /// Visits the requests that are due before `due_ns` and not taken from `schedule`. Returns how many became due.
    fn visit_waiting(&mut self, schedule: &Schedule, due_ns: u64) -> u64 {
        let Counter { start_ns, limit_ns, schedules, count, slow, in_flight, .. } = &mut *self.counter;
        let Some(schedules) = schedules else { return 0 };
        let since_start = |at_ns: u64| at_ns.saturating_sub(*start_ns);
        if schedules.slow.taken < schedule.taken {
            schedules.slow = schedule.clone();
        }
        let became_slow = schedules.slow.skip_to(since_start(self.edge_ns.min(due_ns)));
        *count += became_slow;
        *slow += became_slow;
        if schedule.peek() < since_start(due_ns) {
            let oldest_ns = since_start(self.now_ns) - schedule.peek();
            self.oldest_ns = self.oldest_ns.max(oldest_ns);
            let waiting = schedules.slow.taken - schedule.taken;
            self.has_slow |= waiting > 0;
            record_evenly(waiting, [*limit_ns, oldest_ns], in_flight);
        }
        schedules.offered.skip_to(since_start(due_ns))
    }
}

/// Records `count` ages, evenly between two, as those of a schedule's requests are.
fn record_evenly(count: u64, [youngest, oldest]: [u64; 2], ages: &mut RawHistogram) {
    let steps = count.min(STEPS);
    let edge = |i: u64| u128::from(count) * u128::from(i) / u128::from(steps);
    for i in 0..steps {
        let age = youngest as f64 + oldest.saturating_sub(youngest) as f64 * (i as f64 + 0.5) / steps as f64;
        ages.record_n(age as u64, (edge(i + 1) - edge(i)) as u32);
    }
}

#[cfg(test)]
mod tests;
