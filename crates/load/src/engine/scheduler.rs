//! Assigns due requests to connections, for one load thread.
//!
//! Pure state: no socket, no clock. Invariants:
//! - A due request goes to the connection idle longest, so that connections stay out of phase, or to any idle one, by [`Order`].
//!   If none is idle, connections with capacity (pipelines of an open loop) take it in the same order.
//! - Without capacity the schedule does not move: the request keeps its intended time and goes to the next connection with
//!   capacity. Response time counts from the intended time, lag from when there was capacity. Requests that wait because the
//!   generator was late keep that lag: there would have been capacity by so much earlier.
//! - A request is never sent twice. If its connection is lost before it is sent, it goes to another connection.
//! - Replies come in the order of requests. A connection's oldest request is in its [`Slot`], later ones, of the same
//!   write or not, in its [`Pipeline`].

mod again;
mod capacity;
mod counts;
mod due;
mod names;
mod slot;
mod spread;
mod timeouts;

pub use spread::Order;

use crate::measure::recorder::{Failure, Recorder};
use crate::measure::served::Served;
use crate::{measure::interval::Counters, schedule::Schedule};
use due::Taken;
use names::Names;
use slot::{Pipeline, Slot, State};
use std::{collections::VecDeque, iter, task::Waker};

/// What a connection does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send the next request, which is recorded as sent.
    Send,
    /// Wait to be woken.
    Wait,
    /// Close: the connection has no place in the load any more.
    Close,
}

/// What the dispatcher waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The next request, due at this time in nanoseconds of the run's clock.
    At(u64),
    /// Capacity: a request is due, and the first connection with capacity takes it.
    NoCapacity,
    /// Nothing: the window is over.
    Over,
}

/// The connections of one load thread and their requests.
pub struct Scheduler {
    pub recorder: Recorder,
    /// Connections from this one on have no place in the load now: they take no request. `u32::MAX` unless the number of
    /// connections changes.
    pub places: u32,
    pub order: Order,
    slots: Vec<Slot>,
    /// Good replies in the window, by connection.
    replies: Vec<u32>,
    /// Requests in flight on one connection, at most; above 1 only in an open loop.
    depth: u32,
    /// By connection; empty until there are batches or a `depth` above 1.
    pipelines: Vec<Pipeline>,
    names: Names,
    /// By connection: woken for a request assigned to it or a timeout.
    pub wakers: Vec<Waker>,
    /// Connections in the order they became idle. May hold lost ones, which are skipped.
    idle: VecDeque<u32>,
    /// Busy connections that had capacity when they were listed, in turn.
    with_capacity: VecDeque<u32>,
    /// Number of connections with capacity.
    available: usize,
    /// Intended times of requests whose connection was lost before it sent them.
    requeued: VecDeque<u64>,
    schedule: Option<Schedule>,
    /// Start of the load, from which the schedule counts; `None` before.
    start_ns: Option<u64>,
    /// Lag of the last request that found capacity.
    late_ns: u64,
    timeout_ns: u64,
    swept: usize,
    /// The parked dispatcher, woken once a connection has capacity and nothing is due.
    pub dispatcher: Option<Waker>,
}

impl Scheduler {
    /// A scheduler of `connections` closed connections with at most `depth` requests in flight on each. Without a schedule
    /// it is a closed loop, whose depth is 1.
    pub fn new(
        connections: usize,
        depth: u32,
        schedule: Option<Schedule>,
        timeout_ns: u64,
        recorder: Recorder,
    ) -> Self {
        Self {
            recorder,
            places: u32::MAX,
            order: Order::Turns,
            slots: vec![Slot::CLOSED; connections],
            replies: vec![0; connections],
            depth,
            pipelines: if depth > 1 { vec![Pipeline::default(); connections] } else { Vec::new() },
            names: Names::new(),
            wakers: vec![Waker::noop().clone(); connections],
            idle: VecDeque::with_capacity(connections),
            with_capacity: VecDeque::new(),
            available: 0,
            requeued: VecDeque::new(),
            schedule,
            start_ns: None,
            late_ns: 0,
            timeout_ns,
            swept: 0,
            dispatcher: None,
        }
    }

    /// Starts the load: in a closed loop every idle connection gets its first request.
    pub fn begin(&mut self, start_ns: u64) {
        self.start_ns = Some(start_ns);
        if self.schedule.is_none() {
            while let Some(index) = self.take_capacity(start_ns) {
                self.slots[index as usize] = Slot::assigned(start_ns);
                self.wakers[index as usize].wake_by_ref();
            }
        }
    }

    /// An open connection has capacity for one more request: takes one now, or waits to be woken. All requests assigned
    /// before must be sent.
    #[inline(never)]
    pub fn request(&mut self, index: u32, now_ns: u64) -> Action {
        self.recorder.advance(now_ns);
        let open_loop = self.schedule.is_some();
        if self.start_ns.is_none() || self.recorder.is_draining() {
            self.add_capacity(index, now_ns);
            return Action::Wait;
        }
        if !open_loop {
            if !self.recorder.may_send() {
                self.add_capacity(index, now_ns);
                return Action::Wait;
            }
            self.recorder.taken();
            self.assign(index, now_ns);
            return self.send(index, now_ns, now_ns);
        }
        if self.available > 0 {
            // The dispatcher is late: do its work, in its order.
            self.add_capacity(index, now_ns);
            self.dispatch(now_ns);
            return self.send_assigned(index, now_ns);
        }
        let Some(Taken { intended, due, is_scheduled }) = self.take_due(now_ns) else {
            self.add_capacity(index, now_ns);
            if let Some(dispatcher) = self.dispatcher.take() {
                dispatcher.wake();
            }
            return Action::Wait;
        };
        if !self.slots[index as usize].is_busy() {
            self.recorder.rested(0);
        }
        if due < now_ns {
            self.recorder.waited(now_ns);
        } else if is_scheduled {
            self.recorder.scheduled(intended);
            self.recorder.woke_for(1);
            self.recorder.sent_at(now_ns);
        }
        self.assign(index, intended);
        self.send(index, now_ns, due.max(now_ns.saturating_sub(self.late_ns)))
    }

    /// Sends the next request that was assigned to a connection, if there is one.
    pub fn send_assigned(&mut self, index: u32, now_ns: u64) -> Action {
        self.recorder.advance(now_ns);
        if !self.has_assigned(index) || self.recorder.is_draining() {
            return Action::Wait;
        }
        if self.schedule.is_some() {
            let State::Assigned { intended } = self.first_unsent(index).state() else { return Action::Wait };
            let due = self.due_at(intended).min(now_ns);
            self.late_ns = now_ns - due;
            self.recorder.sent_at(now_ns);
            return self.send(index, now_ns, due);
        }
        // A closed loop has no schedule to be late against, and takes a request when it is sent.
        self.slots[index as usize] = Slot::CLOSED;
        self.request(index, now_ns)
    }

    /// Whether the connection has an unsent request. At a depth of 1 it must not ask while its request is in flight.
    #[inline]
    pub fn has_assigned(&self, index: u32) -> bool {
        match self.depth {
            1 => self.slots[index as usize].is_busy(),
            _ => self.pipelines[index as usize].unsent > 0,
        }
    }

    /// Whether the request that the connection awaits a reply to was given up by [`Self::sweep`].
    #[inline]
    pub fn is_timed_out(&self, index: u32) -> bool {
        self.slots[index as usize].is_closed()
    }

    /// Sends the connection's first unsent request now; `base_ns` is when it would have gone out without generator lag.
    #[inline]
    fn send(&mut self, index: u32, now_ns: u64, base_ns: u64) -> Action {
        let intended = self.first_unsent(index).send(now_ns);
        if self.depth > 1 {
            self.pipelines[index as usize].unsent -= 1;
        }
        self.recorder.sent(now_ns, intended, base_ns);
        Action::Send
    }

    /// Records a complete reply to the oldest request of a connection, correct or a failure, whose first byte came at
    /// `first_ns` if not now; `count` adds what else is counted of it. Returns false if the request had timed out: the connection
    /// must be closed. Otherwise the caller continues with [`Self::remove_oldest`], [`Self::next_request`] or [`Self::suspend`].
    #[inline(always)]
    pub fn record_reply(
        &mut self,
        index: u32,
        now_ns: u64,
        reply: Result<(), Failure>,
        first_ns: Option<u64>,
        count: impl FnOnce(&mut Counters),
    ) -> bool {
        let Some((intended, sent)) = self.slots[index as usize].times() else {
            return false;
        };
        // Replies have the time of their turn; a target that answers early may have done so before the request was sent.
        let now_ns = now_ns.max(sent);
        if now_ns - sent >= self.timeout_ns {
            self.time_out(index, now_ns);
            return false;
        }
        self.end_name(index);
        match reply {
            Ok(()) => {
                let is_in_window = now_ns >= self.recorder.open_ns;
                let replies = &mut self.replies[index as usize];
                self.recorder.completed(now_ns, intended, sent, first_ns, |counters| {
                    *replies = replies.saturating_add(u32::from(is_in_window));
                    count(counters);
                });
            }
            Err(failure) => self.recorder.rejected(now_ns, failure, intended, count),
        }
        true
    }

    /// All requests of the connection are answered: takes the next one, waits to be woken, or closes.
    #[inline]
    pub fn next_request(&mut self, index: u32, now_ns: u64) -> Action {
        if self.schedule.is_none() && !self.recorder.is_draining() {
            if index >= self.places {
                self.slots[index as usize] = Slot::CLOSED;
                return Action::Close;
            }
            if !self.recorder.is_limited() {
                // The hottest path of the generator: the end of one request is the start of the next.
                self.recorder.follows();
                self.slots[index as usize] = Slot::in_flight(now_ns, now_ns);
                return Action::Send;
            }
        }
        self.slots[index as usize] = Slot::CLOSED;
        self.request(index, now_ns)
    }

    /// All requests of the connection are answered, and it takes no further one before [`Self::request`].
    pub fn suspend(&mut self, index: u32) {
        self.take_requests(index, |_, _, _| ());
    }

    /// How many of `requests` the write of the request just taken has: fewer if the load ends with a number of requests.
    #[inline]
    pub fn batch_len(&self, requests: u32) -> u32 {
        if requests > 1 && self.schedule.is_none() { 1 + self.recorder.draw_along(requests - 1) } else { requests }
    }

    /// The request just sent is one of `requests` in the same write.
    pub fn send_batch(&mut self, index: u32, requests: u32) {
        if self.pipelines.is_empty() {
            self.pipelines.resize(self.slots.len(), Pipeline::default());
        }
        let slot = self.slots[index as usize];
        self.pipelines[index as usize].queued.resize(requests as usize - 1, slot);
        self.recorder.sent_along(u64::from(requests - 1));
    }

    /// Removes the oldest request, which is answered; the next one becomes the oldest.
    pub fn remove_oldest(&mut self, index: u32) {
        let next = self.pipelines[index as usize].queued.pop_front();
        self.slots[index as usize] = next.unwrap_or(Slot::CLOSED);
    }

    /// The connection sends nothing more before it is replaced: its unsent requests go to others.
    pub fn stop_sending(&mut self, index: u32, now_ns: u64) {
        let pipeline = &mut self.pipelines[index as usize];
        self.available -= usize::from(pipeline.capacity > 0);
        pipeline.capacity = 0;
        let before = self.requeued.len();
        self.requeued.extend(pipeline.take_unsent().filter_map(|slot| match slot.state() {
            State::Assigned { intended } => Some(intended),
            State::Closed | State::Idle { .. } | State::InFlight { .. } => None,
        }));
        if self.requeued.len() > before {
            self.dispatch(now_ns);
        }
    }

    /// How evenly the connections were served in the window.
    pub fn served(&self) -> Served {
        Served::of(&self.replies)
    }

    /// Ends the drain: records unanswered requests, and returns the schedule as far as it was taken.
    pub fn finish(&mut self, now_ns: u64) -> Option<Schedule> {
        let open_loop = self.schedule.is_some();
        let is_unanswered = move |slot: &Slot| match slot.state() {
            State::InFlight { intended, .. } => Some(intended),
            State::Assigned { intended } => open_loop.then_some(intended),
            State::Closed | State::Idle { .. } => None,
        };
        let (names, pipelines) = (&self.names, &self.pipelines);
        let waits = self.slots.iter().filter_map(|slot| match slot.state() {
            State::InFlight { sent, .. } => Some(now_ns.saturating_sub(sent)),
            _ => None,
        });
        let left_ns = waits.max().unwrap_or(0);
        let unanswered = self.slots.iter().enumerate().flat_map(|(index, oldest)| {
            let queued = pipelines.get(index).into_iter().flat_map(|pipeline| &pipeline.queued);
            let mut names = names.get(index).into_iter().flatten().copied();
            // Those without a name were not sent, and are the last.
            iter::once(oldest).chain(queued).filter_map(is_unanswered).map(move |intended| (intended, names.next()))
        });
        let requeued = self.requeued.iter().map(|intended| (*intended, None));
        self.recorder.finish(now_ns, unanswered.chain(requeued), left_ns);
        self.schedule.take()
    }
}

#[cfg(test)]
mod pipeline_tests;
#[cfg(test)]
mod sends_tests;
#[cfg(test)]
mod tests;
