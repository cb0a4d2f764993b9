//! The loop that all models on a raw epoll set share: level-triggered, one set, one slab of connections, each told to the
//! set once. What differs is where connections come from ([`Source`]) and who serves one that is ready ([`Dispatch`]).
//!
//! It must never block but in epoll_wait and in its dispatch, and never keep a connection in the set that is closed: such a one
//! is ready for ever.

use super::{
    accept::{self, PAUSE, Taken, timespec, until_first},
    connection::{BUFFER, Closed, Connection},
    wake_fd::{Shutdown, WakeFd},
};
use crate::{Counts, Service};
use brunt_runtime::CancellationToken;
use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, CreateFlags, EventData, EventFlags},
    fd::{AsFd, OwnedFd},
    io::Errno,
    net::SocketFlags,
};
use slab::Slab;
use std::{
    io,
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError},
    },
    time::{Duration, Instant},
};

/// Events taken in the first turn; more once a turn was full, so that nobody waits a round longer than others.
const EVENTS: usize = 64;

/// What an event is about, if not a connection: those are numbered from 0.
const WAKE: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

/// Where connections come from.
pub(crate) enum Source {
    /// The loop accepts itself.
    Listeners(Vec<TcpListener>),
    /// Another thread does, and rings the wake_fd. The end is when it hangs up.
    Inbox(Receiver<TcpStream>),
}

/// Who serves a connection that is ready.
pub(crate) trait Dispatch {
    /// What is kept for a connection.
    type Seat;
    /// Further flags of a connection in the set.
    const FLAGS: EventFlags;

    fn seat(&mut self, connection: Connection) -> Self::Seat;
    /// Serves it, or sees to it that it is served.
    fn serve(&mut self, set: &Set, key: usize, seat: &mut Self::Seat) -> Result<(), Closed>;
    /// Those that were over elsewhere; asked for after each turn, and the wake_fd makes a turn.
    fn closed_elsewhere(&mut self) -> Vec<(usize, Closed)> {
        Vec::new()
    }
}

/// The dispatch of the loop itself: while it works nobody else is served.
pub(crate) struct Inline {
    buffer: Box<[u8]>,
    service: Service,
}

/// An epoll set.
pub(crate) struct Set(OwnedFd);

/// A loop that does not run yet.
pub(crate) struct Reactor {
    set: Arc<Set>,
    wake_fd: Arc<WakeFd>,
    source: Source,
}

impl Inline {
    pub fn new(service: Service) -> Self {
        Self { buffer: vec![0; BUFFER].into(), service }
    }
}

impl Dispatch for Inline {
    type Seat = Connection;
    const FLAGS: EventFlags = EventFlags::empty();

    fn seat(&mut self, connection: Connection) -> Connection {
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

    /// It may be out of the set already.
    fn forget(&self, listener: &TcpListener) {
        let _ = epoll::delete(&self.0, listener);
    }

    /// Reports a connection for what it waits for now.
    pub fn change(&self, key: usize, connection: &Connection, flags: EventFlags) -> io::Result<()> {
        let wanted = if connection.wants_write() { EventFlags::OUT } else { EventFlags::IN };
        Ok(epoll::modify(&self.0, &connection.socket, EventData::new_u64(key as u64), wanted | flags)?)
    }

    /// One turn's events, behind those that are there.
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

    pub fn wake_fd(&self) -> Arc<WakeFd> {
        self.wake_fd.clone()
    }

    pub fn set(&self) -> Arc<Set> {
        self.set.clone()
    }

    /// Serves until the stop, then those who are connected for the grace time.
    pub fn run<H: Dispatch>(self, dispatch: H, stop: &CancellationToken, grace: Duration) -> io::Result<Counts> {
        let Self { set, wake_fd, mut source } = self;
        let mut shutdown = Shutdown::new(stop, grace, &wake_fd);
        let mut served = Served { set: &set, dispatch, seats: Slab::new(), counts: Counts::default() };
        let mut events = Vec::with_capacity(EVENTS);
        // Listeners are in the set, or out of it until that moment: there is no descriptor for anybody who waits.
        let mut again = matches!(source, Source::Listeners(_)).then(Instant::now);
        while !shutdown.is_over() {
            match &mut source {
                Source::Listeners(listeners) if shutdown.has_begun() => {
                    // Closing does not take out of the set what another process listens on as well (epoll(7)).
                    listeners.drain(..).for_each(|from| set.forget(&from));
                    again = None;
                    if served.seats.is_empty() {
                        break;
                    }
                }
                Source::Listeners(listeners) => {
                    if again.is_some_and(|again| Instant::now() >= again) {
                        listeners.iter().try_for_each(|from| set.add(from, LISTENER, EventFlags::empty()))?;
                        again = None;
                    }
                }
                Source::Inbox(inbox) => loop {
                    match inbox.try_recv() {
                        Ok(socket) => served.admit(socket),
                        Err(TryRecvError::Empty) => break,
                        Err(TryRecvError::Disconnected) if served.seats.is_empty() => return Ok(served.counts),
                        Err(TryRecvError::Disconnected) => break,
                    }
                },
            }
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
                            listeners.iter().for_each(|from| set.forget(from));
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
        served.counts.cut = served.seats.len() as u64;
        Ok(served.counts)
    }
}

/// The connections of a loop.
struct Served<'a, H: Dispatch> {
    set: &'a Set,
    dispatch: H,
    seats: Slab<H::Seat>,
    counts: Counts,
}

impl<H: Dispatch> Served<'_, H> {
    fn accept(&mut self, listeners: &[TcpListener]) -> Taken {
        // An event does not say of which: there is one as a rule, and to ask one in vain costs a system call.
        let exhausted = listeners.iter().any(|listener| {
            accept::take(listener, SocketFlags::NONBLOCK, |socket| self.admit(socket)) == Taken::Exhausted
        });
        if exhausted { Taken::Exhausted } else { Taken::Some }
    }

    fn admit(&mut self, socket: TcpStream) {
        self.counts.accepted += 1;
        let seats = self.seats.vacant_entry();
        // No memory for it, or fs.epoll.max_user_watches: this client's loss alone.
        match self.set.add(&socket, seats.key() as u64, H::FLAGS) {
            Ok(()) => {
                seats.insert(self.dispatch.seat(Connection::new(socket)));
            }
            Err(_) => self.counts.failed += 1,
        }
    }

    fn serve(&mut self, key: usize) {
        if let Some(seat) = self.seats.get_mut(key)
            && let Err(closed) = self.dispatch.serve(self.set, key, seat)
        {
            self.end(key, closed);
        }
    }

    /// Closes it, which takes it out of the set.
    fn end(&mut self, key: usize, closed: Closed) {
        self.seats.remove(key);
        self.counts.failed += u64::from(closed.failed);
    }
}
