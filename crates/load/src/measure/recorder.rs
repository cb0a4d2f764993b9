//! What becomes of each request, on one load thread: the right interval, the right histogram.
//!
//! The rules, in one place:
//! - An event belongs to the interval in which it happens; a latency is kept only if the request was *intended* in the
//!   part of the run (warm-up or window) in which it ends. So a request of the warm-up that ends in the window is a
//!   completion of the window and leaves no latency.
//! - A request under way when the window closes is unanswered. Its response time is at least the time it has waited, and
//!   that is recorded: when its reply comes during the drain, or else when the drain ends.
//! - A timeout is a failure and also a response time, of the timeout's length: leaving it out would flatter the target.
//! - Any other failure is in the error histogram alone: a fast refusal must not improve a percentile.
//!
//! No clock is read here: the caller says when. Times must not go back. An interval ends at its exact nanosecond even if
//! the first event behind it comes later.

use crate::measure::interval::{Counters, Interval, Phase, Usage};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// One line of the series is a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// How a request or a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The connection could not be opened.
    Connect,
    /// No complete reply in time.
    Timeout,
    /// The peer closed or reset the connection.
    Reset,
    /// The reply was not what was asked for, or no reply at all.
    Protocol,
    /// The reply was well formed and reported a failure.
    Status,
}

/// Ends the window after so many completions over all threads.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    done: AtomicU64,
}

impl Budget {
    /// A budget of `limit` completions.
    pub fn new(limit: u64) -> Self {
        Self { limit, done: AtomicU64::new(0) }
    }
}

/// What a recorder shares with the rest of the run.
pub struct Links {
    /// When the window closes, in nanoseconds of the run's clock; moved forward to end a run early.
    pub close: Arc<AtomicU64>,
    /// The limit of completions, if there is one.
    pub budget: Option<Arc<Budget>>,
    /// Reads this thread's consumption.
    pub meter: Box<dyn Fn() -> Usage>,
}

/// Records one load thread.
pub struct Recorder {
    current: Box<Interval>,
    /// End of the current interval unless `links.close` comes first.
    next_ns: u64,
    open_ns: u64,
    /// Latencies count for requests intended at or after this.
    from_ns: u64,
    closed_loop: bool,
    outstanding: u64,
    connections: u64,
    links: Links,
    finished: VecDeque<Box<Interval>>,
    #[expect(clippy::vec_box, reason = "intervals travel between threads as the boxes they are")]
    spare: Vec<Box<Interval>>,
}

impl Recorder {
    /// A recorder in the connect phase.
    pub fn new(closed_loop: bool, links: Links) -> Self {
        let mut current = Box::<Interval>::default();
        current.usage_start = (links.meter)();
        Self {
            current,
            next_ns: u64::MAX,
            open_ns: u64::MAX,
            from_ns: u64::MAX,
            closed_loop,
            outstanding: 0,
            connections: 0,
            links,
            finished: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// The load begins at `start_ns`; the window opens at `open_ns` and closes when `links.close` says.
    pub fn begin(&mut self, start_ns: u64, open_ns: u64) {
        self.open_ns = open_ns;
        self.next_ns = start_ns;
    }

    /// Whether the window is over.
    #[inline]
    pub fn is_draining(&self) -> bool {
        self.current.phase == Phase::Drain
    }

    /// End of the current interval.
    pub fn boundary(&self) -> u64 {
        match self.current.phase {
            Phase::Drain => u64::MAX,
            _ => self.next_ns.min(self.links.close.load(Relaxed)),
        }
    }

    /// Time is now `now_ns`: ends the intervals that are over.
    #[inline]
    pub fn advance(&mut self, now_ns: u64) {
        if now_ns >= self.next_ns || now_ns >= self.links.close.load(Relaxed) {
            self.turn(now_ns);
        }
    }

    /// A request has become due and has a connection.
    #[inline]
    pub fn taken(&mut self) {
        self.outstanding += 1;
    }

    /// A request that found every connection busy when it became due has one now.
    #[inline]
    pub fn waited(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.current.counters.waited += 1;
    }

    /// A request goes out now; `base_ns` is when it would have, had the generator not been late.
    #[inline]
    pub fn sent(&mut self, now_ns: u64, intended_ns: u64, base_ns: u64) {
        self.advance(now_ns);
        self.current.counters.sent += 1;
        if !self.closed_loop && intended_ns >= self.from_ns {
            self.current.lag.record(now_ns - base_ns);
        }
    }

    /// The next request of a closed loop goes out at the moment the last one was completed.
    #[inline]
    pub fn follows(&mut self) {
        self.outstanding += 1;
        self.current.counters.sent += 1;
    }

    /// Payload bytes were handed to the kernel.
    #[inline]
    pub fn moved_out(&mut self, bytes: usize) {
        self.current.counters.bytes.sent += bytes as u64;
    }

    /// Payload bytes were taken from the kernel.
    #[inline]
    pub fn moved_in(&mut self, bytes: usize) {
        self.current.counters.bytes.received += bytes as u64;
    }

    /// `more` requests went out in one write with the one that was just sent.
    pub fn sent_along(&mut self, more: u64) {
        self.outstanding += more;
        self.current.counters.sent += more;
    }

    /// A request has its whole, right reply now; `note` keeps what the reply said beside that.
    #[inline]
    pub fn completed(&mut self, now_ns: u64, intended_ns: u64, sent_ns: u64, note: impl FnOnce(&mut Counters)) {
        if !self.answered(now_ns, intended_ns) {
            return;
        }
        note(&mut self.current.counters);
        self.current.counters.completed += 1;
        if intended_ns >= self.from_ns {
            self.current.service.record(now_ns - sent_ns);
            if !self.closed_loop {
                self.current.response.record(now_ns - intended_ns);
            }
        }
        self.end_if_spent(now_ns);
    }

    /// A request has its whole reply now, and not the one it should have. Such a reply spends the budget as a right one
    /// does: a run of so many requests ends whatever the target answers.
    #[cold]
    #[inline(never)]
    pub fn rejected(&mut self, now_ns: u64, failure: Failure, intended_ns: u64, note: impl FnOnce(&mut Counters)) {
        if !self.answered(now_ns, intended_ns) {
            return;
        }
        note(&mut self.current.counters);
        self.fail(now_ns, failure, intended_ns, None);
        self.end_if_spent(now_ns);
    }

    /// Whether a reply that has come now counts; if not, its request is unanswered.
    #[inline(always)]
    fn answered(&mut self, now_ns: u64, intended_ns: u64) -> bool {
        self.advance(now_ns);
        self.outstanding -= 1;
        match self.current.phase {
            Phase::Window if self.links.budget.is_some() && !self.spend(now_ns) => {
                // Another thread's completion was the last: the window is over, this thread only has not seen it.
                self.current.counters.unanswered += 1;
                self.late(now_ns, intended_ns);
                self.advance(now_ns + 1);
                false
            }
            Phase::Drain => {
                self.late(now_ns, intended_ns);
                false
            }
            Phase::Connect | Phase::Warmup | Phase::Window => true,
        }
    }

    /// If that was the last completion, the next request of this very moment is no longer of the window.
    #[inline(always)]
    fn end_if_spent(&mut self, now_ns: u64) {
        if self.links.budget.is_some() {
            self.advance(now_ns + 1);
        }
    }

    /// A request has failed now. A timeout says at which moment it was one: the sweep notices a little later.
    #[cold]
    #[inline(never)]
    pub fn failed(&mut self, now_ns: u64, failure: Failure, intended_ns: u64, due_ns: Option<u64>) {
        self.advance(now_ns);
        self.outstanding -= 1;
        if self.current.phase == Phase::Drain {
            return self.late(now_ns, intended_ns);
        }
        self.fail(now_ns, failure, intended_ns, due_ns);
    }

    fn fail(&mut self, now_ns: u64, failure: Failure, intended_ns: u64, due_ns: Option<u64>) {
        self.current.counters.failed += 1;
        self.connection_error(now_ns, failure);
        if intended_ns >= self.from_ns {
            let length = due_ns.unwrap_or(now_ns) - intended_ns;
            self.current.error.record(length);
            if failure == Failure::Timeout {
                self.current.response.record(length);
            }
        }
    }

    /// Something failed that is no request: a connection that could not be opened, or was lost while idle.
    pub fn connection_error(&mut self, now_ns: u64, failure: Failure) {
        self.advance(now_ns);
        if self.current.phase == Phase::Drain {
            return;
        }
        let errors = &mut self.current.counters.errors;
        *match failure {
            Failure::Connect => &mut errors.connect,
            Failure::Timeout => &mut errors.timeout,
            Failure::Reset => &mut errors.reset,
            Failure::Protocol => &mut errors.protocol,
            Failure::Status => &mut errors.status,
        } += 1;
    }

    /// A connection was opened.
    pub fn connected(&mut self) {
        self.connections += 1;
    }

    /// A connection was closed.
    pub fn disconnected(&mut self) {
        self.connections -= 1;
    }

    /// Requests that have a connection and no answer.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// The drain is over: what is still without an answer, by intended time, has waited at least until now.
    pub fn finish(&mut self, now_ns: u64, unanswered: impl Iterator<Item = u64>) {
        unanswered.for_each(|intended_ns| self.late(now_ns, intended_ns));
        self.end_interval(now_ns);
    }

    /// The next interval that is over, in order.
    pub fn take_finished(&mut self) -> Option<Box<Interval>> {
        self.finished.pop_front()
    }

    /// An interval whose histograms are empty again, for use in a later second.
    pub fn give_back(&mut self, interval: Box<Interval>) {
        self.spare.push(interval);
    }

    #[cold]
    #[inline(never)]
    fn late(&mut self, now_ns: u64, intended_ns: u64) {
        if intended_ns >= self.open_ns && intended_ns < self.links.close.load(Relaxed) {
            self.current.response.record(now_ns - intended_ns);
        }
    }

    /// Spends one completion; false if none was left. Whoever spends the last one closes the window behind itself.
    #[inline(never)]
    fn spend(&self, now_ns: u64) -> bool {
        let Some(budget) = &self.links.budget else { return true };
        let before = budget.done.fetch_add(1, Relaxed);
        if before + 1 >= budget.limit {
            // Whoever comes after the last one says so too: the last one may be kept from it, and a thread that does not
            // know sends on.
            self.links.close.fetch_min(now_ns + 1, Relaxed);
        }
        before < budget.limit
    }

    #[cold]
    #[inline(never)]
    fn turn(&mut self, now_ns: u64) {
        while self.current.phase != Phase::Drain {
            let close_ns = self.links.close.load(Relaxed);
            let end_ns = self.next_ns.min(close_ns);
            if now_ns < end_ns {
                return;
            }
            if end_ns == close_ns {
                self.current.counters.unanswered += self.outstanding;
            }
            self.end_interval(end_ns);
            (self.current.phase, self.next_ns, self.from_ns) = if end_ns == close_ns {
                (Phase::Drain, u64::MAX, self.open_ns)
            } else if end_ns < self.open_ns {
                (Phase::Warmup, self.open_ns.min(end_ns + SECOND_NS), 0)
            } else {
                (Phase::Window, end_ns + SECOND_NS, self.open_ns)
            };
        }
    }

    fn end_interval(&mut self, end_ns: u64) {
        let usage = (self.links.meter)();
        let fresh = self.spare.pop().unwrap_or_default();
        let mut over = std::mem::replace(&mut self.current, fresh);
        over.end_ns = end_ns;
        over.usage_end = usage;
        over.connections = self.connections;
        self.current.number = over.number + 1;
        self.current.start_ns = end_ns;
        self.current.usage_start = usage;
        self.current.counters = Default::default();
        self.finished.push_back(over);
    }
}

#[cfg(test)]
mod tests;
