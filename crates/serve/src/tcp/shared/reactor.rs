//! Event loop shared by the models on raw epoll: level-triggered, one epoll set, one slab of connections.
//! Models differ in where connections come from ([`Source`]) and in how ready ones are served ([`Dispatch`]).
//!
//! Invariants: it blocks only in epoll_wait and in its dispatch; a closed connection never stays in the set, where it would be
//! ready forever.

use super::accept::{self, PAUSE, Taken, timespec, until_first};
use super::connection::{BUFFER, Closed, Connection};
use super::wake_fd::{Shutdown, WakeFd};
use crate::{Counts, Service};
use brunt_runtime::CancellationToken;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use slab::Slab;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};
use std::{io, sync::Arc};

/// Events taken in the first turn; more once a turn was full, so that no connection waits a turn longer than others.
const EVENTS: usize = 64;

/// Event keys other than connections, which are numbered from 0.
const WAKE: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

pub(crate) enum Source {
    /// The loop accepts.
    Listeners(Vec<TcpListener>),
    /// Another thread accepts and notifies the loop; disconnecting ends the loop.
    Inbox(Receiver<TcpStream>),
}

pub(crate) trait Dispatch {
    type State;
    /// Additional epoll flags of connections.
    const FLAGS: EventFlags;

    fn register(&mut self, connection: Connection) -> Self::State;
    /// Serves a connection, or has it served elsewhere.
    fn serve(&mut self, set: &Set, key: usize, state: &mut Self::State) -> Result<(), Closed>;
    /// Connections closed elsewhere; called after each turn, and a notification makes a turn.
    fn closed_elsewhere(&mut self) -> Vec<(usize, Closed)> {
        Vec::new()
    }
}

/// Serves on the loop's own thread; meanwhile other connections wait.
pub(crate) struct Inline {
    buffer: Box<[u8]>,
    service: Service,
}

pub(crate) struct Set(OwnedFd);

/// An event loop that is not running yet.
pub(crate) struct Reactor {
    pub set: Arc<Set>,
    pub wake_fd: Arc<WakeFd>,
    source: Source,
}

impl Inline {
    pub fn new(service: Service) -> Self {
        Self { buffer: vec![0; BUFFER].into(), service }
    }
}

impl Dispatch for Inline {
    type State = Connection;
    const FLAGS: EventFlags = EventFlags::empty();

    fn register(&mut self, connection: Connection) -> Connection {
        connection
    }

    fn serve(&mut self, set: &Set, key: usize, connection: &mut Connection) -> Result<(), Closed> {
        let before = connection.wants_write();
        connection.turn(&mut self.buffer, self.service)?;
        if connection.wants_write() != before {
            set.change(key, connection, Self::FLAGS)?;
        }
        Ok(())
    }
}

impl Set {
    fn add(&self, source: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.0, source, EventData::new_u64(token), EventFlags::IN | flags)?)
    }

    /// Removes a listener, if it is in the set.
    fn remove(&self, listener: &TcpListener) {
        let _ = epoll::delete(&self.0, listener);
    }

    /// Arms a connection for reading or writing, whichever it waits for.
    pub fn change(&self, key: usize, connection: &Connection, flags: EventFlags) -> io::Result<()> {
        let wanted = if connection.wants_write() { EventFlags::OUT } else { EventFlags::IN };
        Ok(epoll::modify(&self.0, &connection.socket, EventData::new_u64(key as u64), wanted | flags)?)
    }

    fn wait(&self, events: &mut Vec<epoll::Event>, most: Option<Duration>) -> io::Result<()> {
        match epoll::wait(&self.0, spare_capacity(events), timespec(most).as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Reactor {
    pub fn new(source: Source) -> io::Result<Self> {
        let set = Set(epoll::create(CreateFlags::CLOEXEC)?);
        let wake_fd = WakeFd::new()?;
        set.add(&wake_fd, WAKE, EventFlags::empty())?;
        Ok(Self { set: Arc::new(set), wake_fd, source })
    }

    /// Serves until the stop, then open connections for the grace time.
    pub fn run<H: Dispatch>(self, dispatch: H, stop: &CancellationToken, grace: Duration) -> io::Result<Counts> {
        let Self { set, wake_fd, mut source } = self;
        let mut shutdown = Shutdown::new(stop, grace, &wake_fd);
        let mut served = Served { set: &set, dispatch, connections: Slab::new(), counts: Counts::default() };
        let mut events = Vec::with_capacity(EVENTS);
        // When listeners go (back) into the set; they leave it while descriptors have run out.
        let mut again = matches!(source, Source::Listeners(_)).then(Instant::now);
        while !shutdown.is_over() && served.prepare(&mut source, &mut again, shutdown.has_begun())? {
            events.clear();
            set.wait(&mut events, until_first([shutdown.deadline(), again]))?;
            for event in &events {
                match event.data.u64() {
                    WAKE => wake_fd.drain(),
                    LISTENER => {
                        if let Source::Listeners(listeners) = &source
                            && again.is_none()
                            && served.accept(listeners) == Taken::Exhausted
                        {
                            listeners.iter().for_each(|from| set.remove(from));
                            again = Some(Instant::now() + PAUSE);
                        }
                    }
                    key => served.serve(key as usize),
                }
                if shutdown.is_over() {
                    break;
                }
            }
            for (key, closed) in served.dispatch.closed_elsewhere() {
                served.end(key, closed);
            }
            if events.len() == events.capacity() {
                events.reserve(2 * events.len());
            }
        }
        served.counts.cut = served.connections.len() as u64;
        Ok(served.counts)
    }
}

struct Served<'a, H: Dispatch> {
    set: &'a Set,
    dispatch: H,
    connections: Slab<H::State>,
    counts: Counts,
}

impl<H: Dispatch> Served<'_, H> {
    /// Updates the source before a turn. Returns false if the loop ends: it gets no more connections and has none.
    fn prepare(&mut self, source: &mut Source, again: &mut Option<Instant>, is_stopping: bool) -> io::Result<bool> {
        let is_open = match source {
            Source::Listeners(listeners) if is_stopping => {
                // Closing does not remove a socket from the set if another process has it open (epoll(7)).
                listeners.drain(..).for_each(|from| self.set.remove(&from));
                *again = None;
                false
            }
            Source::Listeners(listeners) => {
                if again.is_some_and(|again| Instant::now() >= again) {
                    listeners.iter().try_for_each(|from| self.set.add(from, LISTENER, EventFlags::empty()))?;
                    *again = None;
                }
                true
            }
            Source::Inbox(inbox) => loop {
                match inbox.try_recv() {
                    Ok(socket) => self.admit(socket),
                    Err(error) => break error == TryRecvError::Empty,
                }
            },
        };
        Ok(is_open || !self.connections.is_empty())
    }

    fn accept(&mut self, listeners: &[TcpListener]) -> Taken {
        // The event does not name the listener. Usually there is one; trying another costs a system call.
        let exhausted = listeners.iter().any(|listener| {
            accept::take(listener, SocketFlags::NONBLOCK, |socket| self.admit(socket)) == Taken::Exhausted
        });
        if exhausted { Taken::Exhausted } else { Taken::Some }
    }

    fn admit(&mut self, socket: TcpStream) {
        self.counts.accepted += 1;
        let connections = self.connections.vacant_entry();
        // Out of memory or fs.epoll.max_user_watches: only this connection fails.
        match self.set.add(&socket, connections.key() as u64, H::FLAGS) {
            Ok(()) => {
                connections.insert(self.dispatch.register(Connection::new(socket)));
            }
            Err(_) => self.counts.failed += 1,
        }
    }

    fn serve(&mut self, key: usize) {
        if let Some(state) = self.connections.get_mut(key)
            && let Err(closed) = self.dispatch.serve(self.set, key, state)
        {
            self.end(key, closed);
        }
    }

    fn end(&mut self, key: usize, closed: Closed) {
        self.connections.remove(key);
        self.counts.failed += u64::from(closed.failed);
    }
}
