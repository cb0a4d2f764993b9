//! Who is idle, who awaits a reply, and which request goes to whom: the mind of one load thread, without its hands.
//!
//! Pure state: it opens no socket and reads no clock. Rules:
//! - A due request goes to the connection that has been idle longest, so that the phases of connections spread instead
//!   of a few being busy and the rest asleep.
//! - When none is idle the schedule does not move: the request keeps its intended time and goes to the next connection
//!   that becomes free. Its lag counts from then, its response time from the intended time. But requests that wait because
//!   the generator was late are late by its fault: connections would have been free by so much earlier.
//! - A request is never sent twice; one that was given to a connection that died before sending goes to another.
//!
//! - Requests that go out in one write, as a batch, have one slot between them; the last reply frees it.
//!
//! Timeouts need no timer for each request: [`Roster::sweep`] walks the table of send times, 16 bytes a connection. A list
//! in order of sending would be walked less and would cost every request six writes to keep.

use crate::{
    interval::Tally,
    record::{Failure, Recorder},
    schedule::Schedule,
};
use std::{collections::VecDeque, task::Waker};

/// `intended` of a connection that is not open, or was given up by the sweep.
const NONE: u64 = u64::MAX;
/// `intended` of an open connection without a request.
const IDLE: u64 = u64::MAX - 1;
/// `sent` of a connection that awaits no reply.
const NOT_SENT: u64 = u64::MAX;
/// A sweep looks at no fewer connections than this ...
const SWEEP_LEAST: usize = 4096;
/// ... and at all of them this often within a timeout.
const SWEEPS: u64 = 16;

/// What a connection does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send the next request; it counts as sent at the moment that was passed in.
    Send,
    /// Wait to be woken.
    Wait,
    /// The request has timed out and is recorded: close the connection.
    Cut,
}

/// What the dispatcher waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The next request is due then, in nanoseconds of the run's clock.
    At(u64),
    /// A request is due and no connection is idle: whoever becomes free takes it.
    Starved,
    /// The window is over.
    Over,
}

/// What a connection is at.
#[derive(Debug, Clone, Copy)]
struct Slot {
    intended: u64,
    sent: u64,
}

impl Slot {
    const CLOSED: Self = Self { intended: NONE, sent: NOT_SENT };
}

/// The connections of one load thread.
pub struct Roster {
    /// What becomes of requests.
    pub recorder: Recorder,
    slots: Vec<Slot>,
    /// Requests of each connection's batch that await a reply behind its first; empty as long as nobody sends batches.
    behind: Vec<u32>,
    wakers: Vec<Waker>,
    /// Connections in the order they became idle. A hint: one that died since is still in it, and skipped.
    idle: VecDeque<u32>,
    idle_count: usize,
    /// Requests whose connection died before it sent them.
    orphans: VecDeque<u64>,
    schedule: Option<Schedule>,
    /// When the load began; schedules count from there. `None` before.
    start_ns: Option<u64>,
    /// How late the last request was that found a connection idle: the generator's doing.
    late_ns: u64,
    timeout_ns: u64,
    swept: usize,
    dispatcher: Option<Waker>,
}

impl Roster {
    /// A roster of `connections`, none of them open. No schedule makes a closed loop.
    pub fn new(connections: usize, schedule: Option<Schedule>, timeout_ns: u64, recorder: Recorder) -> Self {
        Self {
            recorder,
            slots: vec![Slot::CLOSED; connections],
            behind: Vec::new(),
            wakers: vec![Waker::noop().clone(); connections],
            idle: VecDeque::with_capacity(connections),
            idle_count: 0,
            orphans: VecDeque::new(),
            schedule,
            start_ns: None,
            late_ns: 0,
            timeout_ns,
            swept: 0,
            dispatcher: None,
        }
    }

    /// Who to wake when `index` is given a request or cut.
    pub fn set_waker(&mut self, index: u32, waker: &Waker) {
        self.wakers[index as usize].clone_from(waker);
    }

    /// The load begins: a closed loop gives every idle connection its first request.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = Some(start_ns);
        if self.schedule.is_none() {
            while let Some(index) = self.pop_idle() {
                self.slots[index as usize].intended = start_ns;
                self.wakers[index as usize].wake_by_ref();
            }
        }
    }

    /// The connection is open and has no request: it gets one now, or it will be woken.
    #[inline(never)]
    pub fn free(&mut self, index: u32, now_ns: u64) -> Next {
        self.recorder.advance(now_ns);
        let open_loop = self.schedule.is_some();
        if self.start_ns.is_none() || self.recorder.is_draining() {
            self.push_idle(index);
            return Next::Wait;
        }
        if !open_loop {
            self.recorder.taken();
            return self.send(index, now_ns, now_ns, now_ns);
        }
        if self.idle_count > 0 {
            // The dispatcher is late: help it, in its order.
            self.push_idle(index);
            self.dispatch(now_ns);
            return self.granted(index, now_ns);
        }
        let Some(intended) = self.take_due(now_ns) else {
            self.push_idle(index);
            if let Some(dispatcher) = self.dispatcher.take() {
                dispatcher.wake();
            }
            return Next::Wait;
        };
        if intended < now_ns {
            self.recorder.waited(now_ns);
        }
        self.send(index, now_ns, intended, intended.max(now_ns.saturating_sub(self.late_ns)))
    }

    /// A connection that was woken asks whether it has a request; if so it is sent now.
    pub fn granted(&mut self, index: u32, now_ns: u64) -> Next {
        let intended = self.slots[index as usize].intended;
        self.recorder.advance(now_ns);
        if intended >= IDLE || self.recorder.is_draining() {
            return Next::Wait;
        }
        if self.schedule.is_some() {
            self.late_ns = now_ns - intended;
            return self.send(index, now_ns, intended, intended);
        }
        // A closed loop has no schedule to be late against.
        self.recorder.taken();
        self.send(index, now_ns, now_ns, now_ns)
    }

    /// Whether the connection has a request to send.
    #[inline]
    pub fn is_granted(&self, index: u32) -> bool {
        self.slots[index as usize].intended < IDLE
    }

    /// Whether the sweep has given up the request that this connection awaits a reply to.
    #[inline]
    pub fn is_cut(&self, index: u32) -> bool {
        self.slots[index as usize].intended == NONE
    }

    #[inline]
    fn send(&mut self, index: u32, now_ns: u64, intended_ns: u64, base_ns: u64) -> Next {
        self.slots[index as usize] = Slot { intended: intended_ns, sent: now_ns };
        self.recorder.sent(now_ns, intended_ns, base_ns);
        Next::Send
    }

    /// The connection has its whole, right reply now.
    #[inline]
    pub fn complete(&mut self, index: u32, now_ns: u64) -> Next {
        match self.answered(index, now_ns, Ok(()), |_| ()) {
            true => self.follow(index, now_ns),
            false => Next::Cut,
        }
    }

    /// The oldest request of the connection has a whole reply now, right or with a fault of its own; `note` keeps what
    /// it said. False if the request was given up before: the connection is to be closed. Otherwise one of
    /// [`Self::advance_batch`], [`Self::follow`] and [`Self::pause`] comes next.
    #[inline(always)]
    pub fn answered(
        &mut self,
        index: u32,
        now_ns: u64,
        reply: Result<(), Failure>,
        note: impl FnOnce(&mut Tally),
    ) -> bool {
        let Slot { intended, sent } = self.slots[index as usize];
        if intended == NONE {
            return false;
        }
        // Replies have the time of their turn. A target that answers before it was asked may have done so earlier in it.
        let now_ns = now_ns.max(sent);
        if now_ns - sent >= self.timeout_ns {
            self.time_out(index as usize, now_ns);
            return false;
        }
        match reply {
            Ok(()) => self.recorder.completed(now_ns, intended, sent, note),
            Err(failure) => self.recorder.rejected(now_ns, failure, intended, note),
        }
        true
    }

    /// All its requests are answered, and it is ready for the next.
    #[inline]
    pub fn follow(&mut self, index: u32, now_ns: u64) -> Next {
        if self.schedule.is_none() && !self.recorder.is_draining() {
            // The closed loop, and the hottest line of the generator: the end of one request is the start of the next.
            self.recorder.follows();
            self.slots[index as usize] = Slot { intended: now_ns, sent: now_ns };
            return Next::Send;
        }
        self.slots[index as usize].sent = NOT_SENT;
        self.free(index, now_ns)
    }

    /// All its requests are answered, and it is not ready: [`Self::free`] says when it is.
    pub fn pause(&mut self, index: u32) {
        self.slots[index as usize] = Slot::CLOSED;
    }

    /// So many requests in all go out in the write of the one that was just sent.
    pub fn send_batch(&mut self, index: u32, requests: u32) {
        if self.behind.is_empty() {
            self.behind.resize(self.slots.len(), 0);
        }
        self.behind[index as usize] = requests - 1;
        self.recorder.sent_along(u64::from(requests - 1));
    }

    /// The next request of the batch is the oldest now.
    pub fn advance_batch(&mut self, index: u32) {
        self.behind[index as usize] -= 1;
    }

    /// How many requests of the connection await a reply, which are then forgotten.
    fn forget_batch(&mut self, index: usize) -> u32 {
        1 + self.behind.get_mut(index).map_or(0, std::mem::take)
    }

    /// The connection is lost. What the sweep has cut is recorded already.
    pub fn lost(&mut self, index: u32, now_ns: u64, failure: Failure) {
        let index = index as usize;
        let Slot { intended, sent } = std::mem::replace(&mut self.slots[index], Slot::CLOSED);
        match (intended, sent) {
            (NONE, _) => (),
            (IDLE, _) => {
                self.idle_count -= 1;
                self.recorder.trouble(now_ns, failure);
            }
            (_, NOT_SENT) => {
                self.recorder.trouble(now_ns, failure);
                if self.schedule.is_some() {
                    self.orphans.push_back(intended);
                }
            }
            _ => (0..self.forget_batch(index)).for_each(|_| self.recorder.failed(now_ns, failure, intended, None)),
        }
    }

    /// Gives due requests to idle connections and wakes them.
    pub fn dispatch(&mut self, now_ns: u64) -> Due {
        self.recorder.advance(now_ns);
        if self.recorder.is_draining() {
            return Due::Over;
        }
        loop {
            match self.next_due() {
                None => return Due::Over,
                Some(due) if due > now_ns => return Due::At(due),
                Some(_) if self.idle_count == 0 => return Due::Starved,
                Some(_) => (),
            }
            let (Some(intended), Some(index)) = (self.take_due(now_ns), self.pop_idle()) else {
                return Due::Starved;
            };
            self.slots[index as usize].intended = intended;
            self.wakers[index as usize].wake_by_ref();
        }
    }

    /// Wake the dispatcher once a connection is idle again.
    pub fn park_dispatcher(&mut self, waker: &Waker) {
        self.dispatcher = Some(waker.clone());
    }

    /// Whether the dispatcher is parked.
    pub fn is_dispatcher_parked(&self) -> bool {
        self.dispatcher.is_some()
    }

    /// When the next request is due, orphans first.
    fn next_due(&self) -> Option<u64> {
        let scheduled = || Some(self.start_ns? + self.schedule.as_ref()?.peek());
        self.orphans.front().copied().or_else(scheduled)
    }

    fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        let due = self.next_due().filter(|due| *due <= now_ns)?;
        if self.orphans.pop_front().is_none() {
            self.schedule.as_mut()?.take();
            self.recorder.taken();
        }
        Some(due)
    }

    fn push_idle(&mut self, index: u32) {
        self.slots[index as usize].intended = IDLE;
        self.idle_count += 1;
        self.idle.push_back(index);
    }

    fn pop_idle(&mut self) -> Option<u32> {
        loop {
            let index = self.idle.pop_front()?;
            if self.slots[index as usize].intended == IDLE {
                self.idle_count -= 1;
                return Some(index);
            }
        }
    }

    /// Gives up the requests sent longer ago than the timeout and wakes their connections. `tick_ns` is how often this
    /// is called: each call looks at so many connections that all are seen sixteen times within a timeout.
    pub fn sweep(&mut self, now_ns: u64, tick_ns: u64) {
        let all = self.slots.len();
        let part = (all as u64 * tick_ns * SWEEPS).div_ceil(self.timeout_ns) as usize;
        let Some(limit) = now_ns.checked_sub(self.timeout_ns) else {
            return;
        };
        for _ in 0..part.max(SWEEP_LEAST).min(all) {
            self.swept = if self.swept + 1 < all { self.swept + 1 } else { 0 };
            if self.slots[self.swept].sent <= limit {
                self.time_out(self.swept, now_ns);
                self.wakers[self.swept].wake_by_ref();
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn time_out(&mut self, index: usize, now_ns: u64) {
        let Slot { intended, sent } = std::mem::replace(&mut self.slots[index], Slot::CLOSED);
        let due = Some(sent + self.timeout_ns);
        for _ in 0..self.forget_batch(index) {
            self.recorder.failed(now_ns, Failure::Timeout, intended, due);
        }
    }

    /// The drain is over: records what is still without an answer, and hands over the schedule as far as it was taken.
    pub fn finish(&mut self, now_ns: u64) -> Option<Schedule> {
        let open_loop = self.schedule.is_some();
        let asked = |slot: &Slot| slot.intended < IDLE && (open_loop || slot.sent != NOT_SENT);
        let depth = |index: usize| 1 + self.behind.get(index).copied().unwrap_or(0) as usize;
        let slots = self.slots.iter().enumerate().filter(|(_, slot)| asked(slot));
        let unanswered = slots.flat_map(|(index, slot)| std::iter::repeat_n(slot.intended, depth(index)));
        self.recorder.finish(now_ns, unanswered.chain(self.orphans.iter().copied()));
        self.schedule.take()
    }
}

#[cfg(test)]
mod batches;
#[cfg(test)]
mod tests;
