//! State of one ring, and of one request, in the kernel of a world.
//!
//! Invariant: each request posts one last completion, also when it is cancelled.

use super::{completion::Completion, lent::Lent};
use crate::{driver::user_data::OpKind, slab::Key};
use std::collections::VecDeque;
use std::os::fd::{OwnedFd, RawFd};
use std::{net::SocketAddr, ptr::NonNull};

pub(crate) enum What {
    Receive,
    /// The bytes, how many were sent, and a sum of the rest.
    Send {
        from: NonNull<u8>,
        len: usize,
        done: usize,
        sum: u64,
    },
    Connect,
    Poll,
}

pub(crate) struct Request {
    pub ring: usize,
    pub kind: OpKind,
    pub key: Key,
    pub what: What,
    /// Its socket is in the ring's list of those that can act, for this request.
    pub ready: bool,
}

pub(crate) enum Entry {
    Request(OpKind, Key, RawFd, What),
    Connect(Key, RawFd, Option<SocketAddr>),
    Cancel(OpKind, Key),
}

/// Readiness of a file that is not of this world, asked of the real kernel.
pub(crate) struct RealPoll {
    pub file: OwnedFd,
    pub events: i16,
    pub kind: OpKind,
    pub key: Key,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Its next turn begins when it has done its work.
    Runs,
    /// It sleeps, at most until then.
    Sleeps(Option<u64>),
    /// Its future is done.
    Ended,
}

pub(crate) struct RingState {
    pub queue: VecDeque<Entry>,
    /// Sockets with requests of this ring that can act, and sockets of requests by slot: connections, watches.
    pub ready: VecDeque<Key>,
    sockets: [Vec<Key>; 2],
    pub completions: VecDeque<Completion>,
    pub lent: Lent,
    pub in_flight: u32,
    /// Requests taken since the worker's last turn, for its counters.
    pub submitted: u64,
    pub real: Vec<RealPoll>,
    pub closed: bool,
    /// The worker's own time, its pace, and when an event was first for it since its last turn.
    pub at: u64,
    pub pace: Pace,
    pub woken: Option<u64>,
}

impl RingState {
    pub fn new(at: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            ready: VecDeque::new(),
            sockets: Default::default(),
            completions: VecDeque::new(),
            lent: Lent::default(),
            in_flight: 0,
            submitted: 0,
            real: Vec::new(),
            closed: false,
            at,
            pace: Pace::Runs,
            woken: None,
        }
    }

    pub fn has_work(&self) -> bool {
        !self.completions.is_empty() || !self.ready.is_empty()
    }

    pub fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    pub fn wake(&mut self, at: u64) {
        self.woken = Some(self.woken.map_or(at, |woken| woken.min(at)));
    }

    /// The time at which the worker goes on, if waking it takes that long; `None` if it waits without a bound.
    pub fn due(&self, wake: u64) -> Option<u64> {
        match self.pace {
            Pace::Runs => Some(self.at),
            Pace::Sleeps(until) => {
                let woken = self.woken.map(|woken| woken.max(self.at) + wake);
                [woken, until].into_iter().flatten().min()
            }
            Pace::Ended => None,
        }
    }

    pub fn slot(&mut self, kind: OpKind, key: Key) -> &mut Key {
        let slots = &mut self.sockets[match kind {
            OpKind::WatchInput | OpKind::WatchOutput => 1,
            _ => 0,
        }];
        let index = key.index as usize;
        if index >= slots.len() {
            slots.resize(index + 1, Key::default());
        }
        &mut slots[index]
    }

    pub fn push(&mut self, kind: OpKind, key: Key, fd: RawFd, what: What) {
        self.in_flight += 1;
        self.queue.push_back(Entry::Request(kind, key, fd, what));
    }

    pub fn push_connect(&mut self, key: Key, fd: RawFd, to: Option<SocketAddr>) {
        self.in_flight += 1;
        self.queue.push_back(Entry::Connect(key, fd, to));
    }

    pub fn push_cancel(&mut self, kind: OpKind, key: Key) {
        self.queue.push_back(Entry::Cancel(kind, key));
    }
}

/// The result of a request interrupted after `done` bytes.
pub(crate) fn part(done: usize, errno: i32) -> i32 {
    if done > 0 { done as i32 } else { -errno }
}
