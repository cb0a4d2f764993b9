//! Who is idle, who awaits a reply, and which request goes to whom: the mind of one load thread, without its hands.
//!
//! Pure state: it opens no socket and reads no clock. Rules:
//! - A due request goes to the connection that has been idle longest, so that the phases of connections spread instead
//!   of a few being busy and the rest asleep. If none is idle it goes, in turn, to one that has room behind what it awaits:
//!   in a pipeline of an open loop.
//! - When none has room the schedule does not move: the request keeps its intended time and goes to the next connection
//!   that has some. Its lag counts from then, its response time from the intended time. But requests that wait because
//!   the generator was late are late by its fault: there would have been room by so much earlier.
//! - A request is never sent twice; one that was given to a connection that died before sending goes to another.
//! - Replies come in the order of the requests: the oldest request of a connection has the connection's slot, and what is
//!   behind it, in the same write or in a later one, stands in its [`Line`].

mod capacity;
mod line;
mod timeouts;

use crate::{
    measure::interval::Counters,
    measure::recorder::{Failure, Recorder},
    schedule::Schedule,
};
use line::{Line, Slot};
use std::{collections::VecDeque, task::Waker};

/// `intended` of a connection that is not open, or was given up by the sweep.
const NONE: u64 = u64::MAX;
/// `intended` of an open connection without a request.
const IDLE: u64 = u64::MAX - 1;
/// `sent` of a connection that awaits no reply.
const NOT_SENT: u64 = u64::MAX;

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
    /// A request is due and no connection has room: whoever has some first takes it.
    Starved,
    /// The window is over.
    Over,
}

/// The connections of one load thread.
pub struct Scheduler {
    /// What becomes of requests.
    pub recorder: Recorder,
    slots: Vec<Slot>,
    /// How many requests of an open loop a connection may have under way.
    depth: u32,
    /// What each connection has behind its slot; empty as long as nobody sends batches and `depth` is 1.
    lines: Vec<Line>,
    wakers: Vec<Waker>,
    /// Connections in the order they became idle. A hint: one that died since is still in it, and skipped.
    idle: VecDeque<u32>,
    /// Connections that are busy and had room when they were put here, in turn: as much of a hint.
    roomy: VecDeque<u32>,
    /// Connections with room.
    ready: usize,
    /// Requests whose connection died before it sent them.
    requeued: VecDeque<u64>,
    schedule: Option<Schedule>,
    /// When the load began; schedules count from there. `None` before.
    start_ns: Option<u64>,
    /// How late the last request was that found room: the generator's doing.
    late_ns: u64,
    timeout_ns: u64,
    swept: usize,
    dispatcher: Option<Waker>,
}

impl Scheduler {
    /// A scheduler of `connections`, none of them open, with up to `depth` requests under way on each. No schedule makes a
    /// closed loop, which has a depth of 1.
    pub fn new(
        connections: usize,
        depth: u32,
        schedule: Option<Schedule>,
        timeout_ns: u64,
        recorder: Recorder,
    ) -> Self {
        Self {
            recorder,
            slots: vec![Slot::CLOSED; connections],
            depth,
            lines: if depth > 1 { vec![Line::default(); connections] } else { Vec::new() },
            wakers: vec![Waker::noop().clone(); connections],
            idle: VecDeque::with_capacity(connections),
            roomy: VecDeque::new(),
            ready: 0,
            requeued: VecDeque::new(),
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
            while let Some(index) = self.take_room() {
                self.slots[index as usize].intended = start_ns;
                self.wakers[index as usize].wake_by_ref();
            }
        }
    }

    /// The connection is open and has room for one more request: it gets one now, or it will be woken. What it was granted
    /// before has to be sent by then.
    #[inline(never)]
    pub fn free(&mut self, index: u32, now_ns: u64) -> Next {
        self.recorder.advance(now_ns);
        let open_loop = self.schedule.is_some();
        if self.start_ns.is_none() || self.recorder.is_draining() {
            self.make_room(index);
            return Next::Wait;
        }
        if !open_loop {
            self.recorder.taken();
            self.put(index, now_ns);
            return self.send(index, now_ns, now_ns);
        }
        if self.ready > 0 {
            // The dispatcher is late: help it, in its order.
            self.make_room(index);
            self.dispatch(now_ns);
            return self.granted(index, now_ns);
        }
        let Some(intended) = self.take_due(now_ns) else {
            self.make_room(index);
            if let Some(dispatcher) = self.dispatcher.take() {
                dispatcher.wake();
            }
            return Next::Wait;
        };
        if intended < now_ns {
            self.recorder.waited(now_ns);
        }
        self.put(index, intended);
        self.send(index, now_ns, intended.max(now_ns.saturating_sub(self.late_ns)))
    }

    /// A connection that was woken asks whether it has a request; if so it is sent now.
    pub fn granted(&mut self, index: u32, now_ns: u64) -> Next {
        self.recorder.advance(now_ns);
        if !self.is_granted(index) || self.recorder.is_draining() {
            return Next::Wait;
        }
        if self.schedule.is_some() {
            let intended = self.first_unsent(index).intended;
            self.late_ns = now_ns - intended;
            return self.send(index, now_ns, intended);
        }
        // A closed loop has no schedule to be late against.
        self.recorder.taken();
        self.slots[index as usize].intended = now_ns;
        self.send(index, now_ns, now_ns)
    }

    /// Whether the connection has a request to send.
    #[inline]
    pub fn is_granted(&self, index: u32) -> bool {
        match self.depth {
            1 => self.slots[index as usize].intended < IDLE,
            _ => self.lines[index as usize].unsent > 0,
        }
    }

    /// Whether the sweep has given up the request that this connection awaits a reply to.
    #[inline]
    pub fn is_cut(&self, index: u32) -> bool {
        self.slots[index as usize].intended == NONE
    }

    /// The connection's first unsent request goes out now; `base_ns` is when it would have, had the generator not been late.
    #[inline]
    fn send(&mut self, index: u32, now_ns: u64, base_ns: u64) -> Next {
        let slot = self.first_unsent(index);
        slot.sent = now_ns;
        let intended = slot.intended;
        if self.depth > 1 {
            self.lines[index as usize].unsent -= 1;
        }
        self.recorder.sent(now_ns, intended, base_ns);
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
    /// [`Self::advance`], [`Self::follow`] and [`Self::pause`] comes next.
    #[inline(always)]
    pub fn answered(
        &mut self,
        index: u32,
        now_ns: u64,
        reply: Result<(), Failure>,
        note: impl FnOnce(&mut Counters),
    ) -> bool {
        let Slot { intended, sent } = self.slots[index as usize];
        if intended == NONE {
            return false;
        }
        // Replies have the time of their turn. A target that answers before it was asked may have done so earlier in it.
        let now_ns = now_ns.max(sent);
        if now_ns - sent >= self.timeout_ns {
            self.time_out(index, now_ns);
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
        self.strip(index, |_, _| ());
    }

    /// So many requests in all go out in the write of the one that was just sent.
    pub fn send_batch(&mut self, index: u32, requests: u32) {
        if self.lines.is_empty() {
            self.lines.resize(self.slots.len(), Line::default());
        }
        let slot = self.slots[index as usize];
        self.lines[index as usize].behind.resize(requests as usize - 1, slot);
        self.recorder.sent_along(u64::from(requests - 1));
    }

    /// The oldest request is dealt with: the next one behind it takes its place, if there is one.
    pub fn advance(&mut self, index: u32) {
        let next = self.lines[index as usize].behind.pop_front();
        self.slots[index as usize] = next.unwrap_or(Slot::CLOSED);
    }

    /// The connection sends no more before it is replaced: others get what it has not sent.
    pub fn withdraw(&mut self, index: u32, now_ns: u64) {
        let line = &mut self.lines[index as usize];
        self.ready -= usize::from(line.room > 0);
        line.room = 0;
        let unsent = line.take_unsent();
        if unsent.len() > 0 {
            self.requeued.extend(unsent.map(|slot| slot.intended));
            self.dispatch(now_ns);
        }
    }

    /// Gives due requests to connections with room and wakes them.
    pub fn dispatch(&mut self, now_ns: u64) -> Due {
        self.recorder.advance(now_ns);
        if self.recorder.is_draining() {
            return Due::Over;
        }
        loop {
            match self.next_due() {
                None => return Due::Over,
                Some(due) if due > now_ns => return Due::At(due),
                Some(_) if self.ready == 0 => return Due::Starved,
                Some(_) => (),
            }
            let (Some(intended), Some(index)) = (self.take_due(now_ns), self.take_room()) else {
                return Due::Starved;
            };
            self.put(index, intended);
            self.wakers[index as usize].wake_by_ref();
        }
    }

    /// Wake the dispatcher once a connection has room again.
    pub fn park_dispatcher(&mut self, waker: &Waker) {
        self.dispatcher = Some(waker.clone());
    }

    /// Whether the dispatcher is parked.
    pub fn is_dispatcher_parked(&self) -> bool {
        self.dispatcher.is_some()
    }

    /// When the next request is due, requeued first.
    fn next_due(&self) -> Option<u64> {
        let scheduled = || Some(self.start_ns? + self.schedule.as_ref()?.peek());
        self.requeued.front().copied().or_else(scheduled)
    }

    fn take_due(&mut self, now_ns: u64) -> Option<u64> {
        let due = self.next_due().filter(|due| *due <= now_ns)?;
        if self.requeued.pop_front().is_none() {
            self.schedule.as_mut()?.take();
            self.recorder.taken();
        }
        Some(due)
    }

    /// The drain is over: records what is still without an answer, and hands over the schedule as far as it was taken.
    pub fn finish(&mut self, now_ns: u64) -> Option<Schedule> {
        let open_loop = self.schedule.is_some();
        let asked = |slot: &&Slot| slot.intended < IDLE && (open_loop || slot.sent != NOT_SENT);
        let behind = self.lines.iter().flat_map(|line| &line.behind);
        let unanswered = self.slots.iter().chain(behind).filter(asked).map(|slot| slot.intended);
        self.recorder.finish(now_ns, unanswered.chain(self.requeued.iter().copied()));
        self.schedule.take()
    }
}

#[cfg(test)]
mod batches;
#[cfg(test)]
mod pipelines;
#[cfg(test)]
mod tests;
