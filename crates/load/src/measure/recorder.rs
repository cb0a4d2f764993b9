//! Records the outcome of each request of one load thread in the interval and histogram it belongs to.
//!
//! Rules:
//! - An event belongs to the interval in which it happens. A latency is kept only if the request was *intended* in the phase
//!   (warm-up or window) in which it ends: a request of the warm-up that ends in the window is a completion of the window
//!   without a latency.
//! - A request in flight at the end of the window is unanswered. Its response time is that of its reply during the drain. Without
//!   a reply it is also abandoned.
//! - A request that ends without a complete reply, by a timeout, a reset or the end of the drain, is *censored*: what it has
//!   waited is a lower bound of its response time. Leaving it out, or taking the wait for the time, would flatter the target.
//!   It is a failure of the phase in which it was intended, even if it ends in the drain.
//! - A complete reply that is a failure is in the error histogram alone: a fast refusal must not improve a percentile.
//!
//! Reads no clock: times are arguments and must not go back. An interval ends at its exact nanosecond, even if the first
//! event after it comes later.

mod counted;
mod failures;
mod intervals;
mod sends;

pub use crate::measure::failure::Failure;

use crate::measure::breakdown::Breakdown;
use crate::measure::counter::Counter;
use crate::measure::interval::{Counters, Interval, Phase};
use crate::measure::links::Links;
use brunt_results::result::Bytes;
use std::sync::atomic::Ordering::Relaxed;
use std::{collections::VecDeque, task::Waker};

/// Length of an interval, and of a line of the series.
pub const SECOND_NS: u64 = 1_000_000_000;

pub struct Recorder {
    current: Box<Interval>,
    /// End of the current interval unless `links.close` comes first.
    next_ns: u64,
    /// Start of the window; `u64::MAX` if it is not set yet, and then that of `links` is looked at in each second.
    pub open_ns: u64,
    /// Latencies are kept of requests intended at or after this time.
    from_ns: u64,
    closed_loop: bool,
    /// Intended time of the request that the schedule gave last, and when the last one was sent; those that waited for a connection
    /// aside.
    scheduled_ns: u64,
    sent_ns: u64,
    /// Requests with a connection and without a reply.
    pub outstanding: u64,
    /// Those of the warm-up among them in a window of a number of requests, which are others.
    of_warmup: u64,
    pub connections: u64,
    links: Links,
    /// Whether [`Self::note_reply`] has anything to do.
    notes_replies: bool,
    pub counter: Option<Box<Counter>>,
    pub breakdown: Breakdown,
    /// Woken once no request is in flight in the drain.
    pub drain_waker: Option<Waker>,
    /// Time of the last reply or failure in the drain; 0 if there was none.
    pub drained_ns: u64,
    /// Requests of the window that were due and will not be sent.
    pub unsent: u64,
    pub finished: VecDeque<Box<Interval>>,
    /// Intervals with empty histograms, for later seconds.
    #[expect(clippy::vec_box, reason = "intervals are sent between threads as boxes")]
    pub spare: Vec<Box<Interval>>,
}

impl Recorder {
    pub fn new(closed_loop: bool, links: Links, counter: Option<Counter>, breakdown: Breakdown) -> Self {
        let mut current = Box::<Interval>::default();
        current.usage_start = (links.meter)();
        Self {
            current,
            next_ns: u64::MAX,
            open_ns: u64::MAX,
            from_ns: u64::MAX,
            closed_loop,
            scheduled_ns: 0,
            sent_ns: 0,
            outstanding: 0,
            of_warmup: 0,
            connections: 0,
            notes_replies: counter.is_some() || !breakdown.is_empty(),
            counter: counter.map(Box::new),
            breakdown,
            links,
            drain_waker: None,
            drained_ns: 0,
            unsent: 0,
            finished: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Sets the start of the load and of the window, which ends at `links.close`.
    pub fn begin(&mut self, start_ns: u64, open_ns: u64) {
        self.open_ns = open_ns;
        self.next_ns = start_ns;
        self.breakdown.begin(open_ns);
        self.counter.iter_mut().for_each(|counter| counter.begin(start_ns));
    }

    /// As [`Self::begin`], of another load on the same connections, with none in flight. What happened since the last one is
    /// not counted.
    pub fn begin_again(&mut self, start_ns: u64, open_ns: u64) {
        self.begin(start_ns, open_ns);
        (self.from_ns, self.drained_ns, self.unsent) = (u64::MAX, 0, 0);
        self.current.phase = Phase::Connect;
        self.current.usage_start = (self.links.meter)();
        self.current.start_ns = self.current.usage_start.at_ns;
        self.current.counters = Counters::default();
    }

    /// Requests have names from now on.
    pub fn begin_names(&mut self) {
        self.notes_replies = true;
        self.breakdown.begin_names();
    }

    #[inline]
    pub fn is_draining(&self) -> bool {
        self.current.phase == Phase::Drain
    }

    /// That of the interval in which the next event is counted.
    pub fn phase(&self) -> Phase {
        self.current.phase
    }

    pub fn boundary(&self) -> u64 {
        match self.current.phase {
            Phase::Drain => u64::MAX,
            _ => {
                let counts_ns = self.counter.as_ref().map_or(u64::MAX, |counter| counter.next_ns);
                self.next_ns.min(self.links.close.load(Relaxed)).min(counts_ns)
            }
        }
    }

    /// Ends the intervals that are over at `now_ns`.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        if now_ns >= self.next_ns || now_ns >= self.links.close.load(Relaxed) {
            self.end_intervals(now_ns);
        }
    }

    /// A due request has a connection.
    #[inline]
    pub fn taken(&mut self) {
        self.outstanding += 1;
    }

    /// A request that was due when every connection was busy has a connection now.
    #[inline]
    pub fn waited(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.current.counters.waited += 1;
    }

    /// A request is sent now; without generator lag it would have been sent at `base_ns`.
    #[inline]
    pub fn sent(&mut self, now_ns: u64, intended_ns: u64, base_ns: u64) {
        self.advance(now_ns);
        self.current.counters.sent += 1;
        if !self.closed_loop && intended_ns >= self.from_ns {
            self.current.lag.record(now_ns - base_ns);
        }
        self.counter.iter_mut().for_each(|counter| counter.sent(base_ns, now_ns));
    }

    /// The next request of a closed loop is sent at the completion of the one before.
    #[inline]
    pub fn follows(&mut self) {
        self.outstanding += 1;
        self.current.counters.sent += 1;
    }

    /// The bytes that were moved in this interval.
    #[inline]
    pub fn bytes(&mut self) -> &mut Bytes {
        &mut self.current.counters.bytes
    }

    /// The counts of this interval.
    pub fn counters(&mut self) -> &mut Counters {
        &mut self.current.counters
    }

    /// `more` requests were sent in one write with the one just recorded.
    pub fn sent_along(&mut self, more: u64) {
        self.outstanding += more;
        self.current.counters.sent += more;
    }

    /// A request has its complete, correct reply now, whose first byte came at `first_ns` if not now. `count` adds what else
    /// is counted of a reply.
    #[inline]
    pub fn completed(
        &mut self,
        now_ns: u64,
        intended_ns: u64,
        sent_ns: u64,
        first_ns: Option<u64>,
        count: impl FnOnce(&mut Counters),
    ) {
        if !self.answered(now_ns, intended_ns) {
            return;
        }
        count(&mut self.current.counters);
        self.current.counters.completed += 1;
        if intended_ns >= self.from_ns {
            self.current.service.record(now_ns - sent_ns);
            if !self.closed_loop {
                self.current.response.record(now_ns - intended_ns);
            }
            if let Some(first_ns) = first_ns {
                self.came_in_pieces(first_ns.saturating_sub(sent_ns), now_ns - sent_ns);
            }
        }
        if self.notes_replies {
            self.note_reply(now_ns, intended_ns);
        }
    }

    #[inline(never)]
    fn came_in_pieces(&mut self, first_byte_ns: u64, service_ns: u64) {
        let pieces = self.current.pieces.get_or_insert_default();
        pieces.first_byte.record(first_byte_ns);
        pieces.service.record(service_ns);
        self.current.counters.apart.record(service_ns - first_byte_ns);
    }

    #[inline(never)]
    fn note_reply(&mut self, now_ns: u64, intended_ns: u64) {
        if self.current.phase == Phase::Window {
            let response_ns = (intended_ns >= self.from_ns).then(|| now_ns - intended_ns);
            self.breakdown.completed(intended_ns, response_ns);
        }
        self.ended(now_ns, intended_ns, false);
    }

    fn ended(&mut self, now_ns: u64, intended_ns: u64, failed: bool) {
        self.counter.iter_mut().for_each(|counter| counter.ended(now_ns, intended_ns, failed));
    }

    /// Whether a reply that is complete now counts; if not, its request is unanswered.
    #[inline(always)]
    fn answered(&mut self, now_ns: u64, intended_ns: u64) -> bool {
        let counts = self.counts(now_ns, intended_ns);
        if !counts {
            self.answered_late(now_ns, intended_ns);
        }
        counts
    }

    /// Whether a request that ends now does so before the end of the window. If not, the interval is that of the drain, or the
    /// request is one of the warm-up and the window of a number of requests, which are those sent in it.
    #[inline(always)]
    fn counts(&mut self, now_ns: u64, intended_ns: u64) -> bool {
        self.advance(now_ns);
        self.outstanding -= 1;
        match self.current.phase {
            Phase::Window if self.is_limited() => self.spend(now_ns, intended_ns),
            Phase::Drain => false,
            Phase::Connect | Phase::Warmup | Phase::Window => true,
        }
    }

    /// Ends the drain: requests still unanswered, given by intended time and name, have waited at least until now. None is sent
    /// any more. `left_ns`: the longest time since one of them was sent.
    pub fn finish(&mut self, now_ns: u64, unanswered: impl Iterator<Item = (u64, Option<u16>)>, left_ns: u64) {
        unanswered.for_each(|(intended_ns, name)| {
            self.breakdown.name = name;
            self.abandon(now_ns, intended_ns);
        });
        self.current.counters.left_ns = left_ns;
        self.end_interval(now_ns);
        self.current.phase = Phase::Drain;
    }

    /// A request ends after the window, or is given up; it no longer counts as outstanding.
    fn late(&mut self, now_ns: u64, intended_ns: u64, failed: bool) {
        self.drained_ns = now_ns;
        self.ended(now_ns, intended_ns, failed);
        if self.outstanding == 0
            && let Some(waker) = self.drain_waker.take()
        {
            waker.wake();
        }
    }

    #[cold]
    #[inline(never)]
    fn answered_late(&mut self, now_ns: u64, intended_ns: u64) {
        self.late(now_ns, intended_ns, false);
        if self.is_of_window(intended_ns) {
            self.current.response.record(now_ns - intended_ns);
            self.breakdown.late(intended_ns, now_ns - intended_ns);
        }
    }

    fn is_of_window(&self, intended_ns: u64) -> bool {
        intended_ns >= self.open_ns && intended_ns < self.links.close.load(Relaxed)
    }
}

#[cfg(test)]
mod tests;
