//! Everything a worker does with the kernel: connections, listeners, buffers, and the events that drive them.
//!
//! No user code ever runs in here: events end in [`Wakers`], and the worker wakes tasks when nothing is borrowed.

mod accept;
mod active_set;
#[cfg(test)]
mod audit;
mod buffer_pool;
mod close;
mod conn;
mod connect;
mod readiness;
mod receive;
mod transmit;
mod wake_fd;

use crate::{
    buffers::recv::Buffers,
    buffers::send::Blocks,
    driver::epoll::{Event, Interest},
    driver::user_data::Kind,
    driver::{BackendKind, Driver},
    io::conn::{Conn, flag},
    metrics::Metrics,
    slab::{Key, Slab},
    task::waiter::Wakers,
};
use accept::Listener;
use active_set::Crowd;
use io_uring::cqueue;
use std::{
    collections::VecDeque,
    io,
    mem::MaybeUninit,
    os::fd::{BorrowedFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

pub(crate) use readiness::Direction;
pub(crate) use receive::Received;

/// Completions taken off the ring at a time.
const BATCH: usize = 64;

// The driver is dropped first: the ring is closed before the memory it points to is freed.
pub(crate) struct Io {
    driver: Driver,
    buffers: Buffers,
    blocks: Blocks,
    conns: Slab<Conn>,
    listeners: Slab<Listener>,
    watches: Slab<readiness::Watched>,
    /// Addresses that connects in flight point to.
    addresses: Vec<(Key, Box<socket2::SockAddr>)>,
    hunger: buffer_pool::Hunger,
    lingering: VecDeque<close::Lingering>,
    bell: Arc<OwnedFd>,
    /// Kept only where spinning is allowed.
    crowd: Option<Crowd>,
    pub wakers: Wakers,
    pub metrics: Metrics,
}

impl Io {
    /// `few` is how many connections still count as hardly any, where that is of interest.
    pub fn new(
        wanted: Option<BackendKind>,
        few: Option<u32>,
        bell: Arc<OwnedFd>,
    ) -> io::Result<(Self, Option<String>)> {
        let (driver, fallback) = Driver::new(wanted)?;
        let mut io = Self {
            driver,
            buffers: Buffers::new()?,
            blocks: Blocks::new(),
            conns: Slab::new(),
            listeners: Slab::new(),
            watches: Slab::new(),
            addresses: Vec::new(),
            hunger: buffer_pool::Hunger::new(),
            lingering: VecDeque::new(),
            bell,
            crowd: few.map(Crowd::new),
            wakers: Wakers::new(),
            metrics: Metrics::default(),
        };
        io.hand_out_more_buffers();
        io.watch_bell()?;
        Ok((io, fallback))
    }

    pub fn backend(&self) -> BackendKind {
        self.driver.kind()
    }

    /// The optional features of the ring; none on epoll.
    pub fn rungs(&self) -> Vec<crate::driver::uring::RingFeature> {
        match &self.driver {
            Driver::Uring(uring) => uring.rungs(),
            Driver::Epoll(_) => Vec::new(),
        }
    }

    /// Takes a connected socket in.
    pub fn adopt(&mut self, fd: OwnedFd) -> Key {
        use std::os::fd::IntoRawFd;
        self.conns.insert(Conn::new(fd.into_raw_fd()))
    }

    /// The descriptor of a live connection.
    pub fn fd(&mut self, key: Key) -> io::Result<BorrowedFd<'_>> {
        let conn = self.conns.get(key).ok_or_else(closed)?;
        // SAFETY: a live slot owns its open descriptor, and the borrow of `self` keeps it from being closed.
        Ok(unsafe { BorrowedFd::borrow_raw(conn.fd) })
    }

    /// Whether hardly anybody talks to us: then nothing is won by letting requests gather while we sleep.
    pub fn is_quiet(&self) -> bool {
        self.crowd.is_some_and(|crowd| crowd.is_small())
    }

    /// True when waiting would return at once.
    #[inline]
    pub fn has_work(&mut self) -> bool {
        match &mut self.driver {
            Driver::Uring(uring) => uring.has_work(),
            Driver::Epoll(epoll) => epoll.has_work(),
        }
    }

    /// True when requests wait to be handed to the kernel.
    #[inline]
    pub fn has_queued(&mut self) -> bool {
        match &mut self.driver {
            Driver::Uring(uring) => uring.has_queued(),
            Driver::Epoll(_) => false,
        }
    }

    /// Nobody is ready, and nothing that is here already will make anybody ready.
    pub fn is_idle(&mut self) -> bool {
        self.wakers.is_idle() && !self.is_hungry() && !self.has_work()
    }

    /// The kernel may have something for us at any time.
    pub fn has_io(&self) -> bool {
        self.conns.len() + self.listeners.len() + self.watches.len() > 0
    }

    /// One trip to the kernel, and all that came of it.
    pub fn turn(&mut self, timeout: Option<Duration>) {
        self.metrics.turns += 1;
        let before = self.metrics.events;
        if let Some(crowd) = &mut self.crowd {
            crowd.turn(self.metrics.turns);
        }
        self.driver.wait(timeout, &mut self.metrics);
        match &self.driver {
            Driver::Uring(_) => self.reap(),
            Driver::Epoll(_) => self.ready(),
        }
        self.metrics.count_batch(self.metrics.events - before);
        if !self.lingering.is_empty() {
            self.end_lingering();
        }
        if !self.hunger.is_over() {
            self.relieve();
        }
    }

    /// The counters as of now.
    pub fn report(&self) -> Metrics {
        let (connections, spare_buffers) = (self.conns.len() as u64, u64::from(self.buffers.spares_out()));
        Metrics { connections, spare_buffers, ..self.metrics }
    }

    /// Connections starve and something can be done about it: the next turn must come soon.
    pub fn is_hungry(&self) -> bool {
        self.hunger.is_urgent()
    }

    /// Handles all completions of the ring.
    fn reap(&mut self) {
        loop {
            let mut batch = [const { MaybeUninit::uninit() }; BATCH];
            let Driver::Uring(uring) = &mut self.driver else { return };
            let completions = uring.take(&mut batch);
            self.metrics.events += completions.len() as u64;
            for completion in completions {
                self.completed(completion.user_data(), completion.result(), completion.flags());
            }
            if completions.len() < BATCH {
                return;
            }
        }
    }

    /// One completion: what was asked, how it ended, and whether the request goes on.
    #[inline(always)]
    fn completed(&mut self, data: u64, result: i32, flags: u32) {
        let (kind, key) = Kind::untag(data);
        let more = cqueue::more(flags);
        match kind {
            Some(Kind::Receive) => {
                self.request_goes_on(more);
                self.received(key, result, cqueue::buffer_select(flags), more);
            }
            Some(Kind::Send) => {
                self.request_goes_on(false);
                self.sent(key, result);
            }
            Some(Kind::Accept) => {
                self.request_goes_on(more);
                self.accepted(key, result, more);
            }
            Some(Kind::Connect) => {
                self.request_goes_on(false);
                self.connected(key, result);
            }
            Some(Kind::Bell) => self.rung(more),
            Some(Kind::Message) => self.messaged(result, key.index),
            _ => self.polled(data, result),
        }
    }

    #[inline]
    fn request_goes_on(&mut self, more: bool) {
        if !more && let Driver::Uring(uring) = &mut self.driver {
            uring.ended();
        }
    }

    /// Handles all that epoll reported.
    fn ready(&mut self) {
        while let Driver::Epoll(epoll) = &mut self.driver
            && let Some(event) = epoll.next_event()
        {
            self.metrics.events += 1;
            match event {
                Event::Readable(key) => self.readable(key),
                Event::Writable(key) => self.writable(key),
                Event::Acceptable(key) => self.acceptable(key),
                Event::Rung => self.rung(true),
                Event::Watched(key) => self.watched(key),
            }
        }
    }

    /// Brings the epoll watch in line with what the connection waits for.
    fn update_interest(&mut self, key: Key) {
        let (Driver::Epoll(epoll), Some(conn)) = (&mut self.driver, self.conns.get(key)) else {
            return;
        };
        let interest = Interest {
            input: conn.has(flag::RECEIVING),
            output: conn.has(flag::SENDING | flag::CONNECTING | flag::WANTS_OUTPUT),
        };
        // SAFETY: a live slot owns its open descriptor.
        let fd = unsafe { BorrowedFd::borrow_raw(conn.fd) };
        match epoll.watch(Kind::Conn, key, fd, conn.has(flag::REGISTERED), interest) {
            Ok(true) => conn.set(flag::REGISTERED),
            Ok(false) => conn.clear(flag::REGISTERED),
            Err(error) => {
                // Out of watches or memory: the reader or writer gets the error instead of waiting for ever.
                let errno = error.raw_os_error().unwrap_or(libc::EIO) as u16;
                (conn.read_errno, conn.write_errno) = (errno, errno);
                conn.clear(flag::RECEIVING | flag::CONNECTING | flag::WANTS_OUTPUT);
                self.wakers.wake(&mut conn.reader);
                self.wakers.wake(&mut conn.writer);
            }
        }
    }
}

/// The error of a stream whose runtime is gone.
pub(crate) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the stream's runtime has shut down")
}

/// An errno kept in a slot.
fn from_errno(errno: u16) -> io::Error {
    io::Error::from_raw_os_error(i32::from(errno))
}
