//! The machine of a world: the state of its kernel, and the queue of what will happen.
//!
//! Invariants:
//! - An event changes sockets and makes requests ready; it never runs a worker or user code.
//! - What a worker does at its own time `at` has effects from `at` on: nothing travels back in time.

use super::ring_state::RingState;
use super::socket::{Names, Socket};
use super::spares::Spares;
use super::trace::Trace;
use super::{clock::Clock, random::Random, settings::*};
use crate::slab::{Key, Slab};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::os::fd::RawFd;

/// What happens at some time.
#[derive(Debug)]
pub(crate) enum Event {
    /// Bytes from one socket arrive at another.
    Arrive {
        from: Key,
        to: Key,
        len: u32,
    },
    /// So does the end of the stream, or a reset.
    Fin {
        to: Key,
    },
    Reset {
        to: Key,
    },
    /// A connect arrives where it goes.
    Syn {
        from: Key,
        attempt: u8,
    },
    /// A connect ends: 0 or an errno.
    Connected {
        client: Key,
        errno: i32,
    },
    /// A connection is ready to be accepted.
    Established {
        listener: Key,
        server: Key,
    },
    /// Unsent bytes to that socket may be sent.
    Pump {
        to: Key,
    },
    /// The socket may take more bytes to send.
    Space {
        from: Key,
    },
    Datagram(Box<(SocketAddr, SocketAddr, Box<[u8]>)>),
    /// Datagrams there have no receiver.
    Unreachable {
        to: Key,
    },
    /// Requests of that socket that were delayed may act.
    Delayed {
        socket: Key,
    },
}

struct Scheduled {
    at: u64,
    order: u64,
    event: Event,
}

/// Earliest first, those of one time in the order in which they were scheduled.
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Scheduled {}

pub(crate) struct Machine {
    pub clock: Clock,
    pub(crate) state: RefCell<State>,
    /// Only one `block_on` drives it at a time.
    pub(crate) driven: Cell<bool>,
    pub(crate) turns: Cell<u64>,
}

impl Machine {
    pub fn new(seed: u64, settings: Settings) -> Self {
        let machine = Self {
            clock: Clock::new(),
            state: RefCell::new(State::new(seed, settings)),
            driven: Cell::new(false),
            turns: Cell::new(0),
        };
        machine.apply_costs();
        machine
    }

    /// Takes over costs that are charged without looking at the settings.
    pub fn apply_costs(&self) {
        let costs = self.state.borrow().settings.costs;
        self.clock.read.set(super::clock::nanos(costs.clock));
        self.clock.poll.set(super::clock::nanos(costs.poll));
        self.clock.call.set(super::clock::nanos(costs.request));
    }
}

pub(crate) struct State {
    pub settings: Settings,
    pub random: Random,
    pub trace: Trace,
    pub sockets: Slab<Socket>,
    opened: u32,
    /// By descriptor; the default key for those that are not of this world.
    descriptors: Vec<Key>,
    pub names: Names,
    /// The first is the one of all addresses without their own.
    pub links: Vec<(Option<SocketAddr>, Link)>,
    pub rings: Vec<RingState>,
    pub violations: Vec<String>,
    pub spares: Spares,
    queue: BinaryHeap<Scheduled>,
    scheduled: u64,
}

impl State {
    fn new(seed: u64, settings: Settings) -> Self {
        Self {
            links: vec![(None, settings.link)],
            settings,
            random: Random::new(seed),
            trace: Trace::default(),
            sockets: Slab::new(),
            opened: 0,
            descriptors: Vec::new(),
            names: Names::default(),
            rings: Vec::new(),
            violations: Vec::new(),
            spares: Spares::default(),
            queue: BinaryHeap::new(),
            scheduled: 0,
        }
    }

    pub fn schedule(&mut self, at: u64, event: Event) {
        self.scheduled += 1;
        self.queue.push(Scheduled { at, order: self.scheduled, event });
    }

    pub fn next_event(&self) -> Option<u64> {
        self.queue.peek().map(|scheduled| scheduled.at)
    }

    pub fn take_event(&mut self) -> Option<(u64, Event)> {
        self.queue.pop().map(|Scheduled { at, event, .. }| (at, event))
    }

    pub fn report(&mut self, violation: String) {
        if self.violations.len() < 20 {
            self.violations.push(violation);
        }
    }

    pub fn open(&mut self, mut socket: Socket) -> Key {
        self.opened += 1;
        socket.number = self.opened;
        self.sockets.insert(socket)
    }

    pub fn number(&mut self, socket: Key) -> u32 {
        self.sockets.get(socket).map_or(0, |socket| socket.number)
    }

    /// Makes a descriptor one of that socket. Another socket whose descriptor had that number was closed unseen.
    pub fn describe(&mut self, fd: RawFd, socket: Key, at: u64) {
        self.close_descriptor(fd, false, at);
        let index = fd as usize;
        if index >= self.descriptors.len() {
            self.descriptors.resize(index + 1, Key::default());
        }
        self.descriptors[index] = socket;
        if let Some(socket) = self.sockets.get(socket) {
            socket.descriptors += 1;
        }
    }

    /// The socket of a descriptor.
    pub fn by_descriptor(&self, fd: RawFd) -> Option<Key> {
        self.descriptors.get(fd as usize).copied().filter(|key| *key != Key::default())
    }

    /// Every descriptor of this world.
    pub fn all_descriptors(&self) -> impl Iterator<Item = (RawFd, Key)> {
        let of_world = |(_, key): &(usize, Key)| *key != Key::default();
        self.descriptors.iter().copied().enumerate().filter(of_world).map(|(fd, key)| (fd as RawFd, key))
    }

    pub fn forget_descriptor(&mut self, fd: RawFd) {
        self.descriptors[fd as usize] = Key::default();
    }

    /// A time drawn from zero to `most`.
    pub fn jitter(&mut self, most: u64) -> u64 {
        if most == 0 { 0 } else { self.random.below(most + 1) }
    }
}
