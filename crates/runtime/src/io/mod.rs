//! Everything a worker does with the kernel: connections, listeners, buffers, and the events that drive them.
//!
//! No user code ever runs in here: events end in [`Wakers`], and the worker wakes tasks when nothing is borrowed.

mod accept;
mod close;
mod connect;
mod receive;
mod transmit;

use crate::{
    blocks::Blocks,
    buffers::Buffers,
    conn::{Conn, flag},
    driver::{BackendKind, Driver},
    epoll::Interest,
    event::{Event, Kind},
    metrics::Metrics,
    slab::{Key, Slab},
    waiter::Wakers,
};
use accept::Listener;
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

pub(crate) use receive::Received;

// The driver is dropped first: the ring is closed before the memory it points to is freed.
pub(crate) struct Io {
    driver: Driver,
    buffers: Buffers,
    blocks: Blocks,
    conns: Slab<Conn>,
    listeners: Slab<Listener>,
    /// Addresses that connects in flight point to.
    addresses: Vec<(Key, Box<socket2::SockAddr>)>,
    starved: VecDeque<Key>,
    lingering: VecDeque<close::Lingering>,
    bell: Arc<OwnedFd>,
    pub wakers: Wakers,
    pub metrics: Metrics,
}

impl Io {
    pub fn new(wanted: Option<BackendKind>, bell: Arc<OwnedFd>) -> io::Result<(Self, Option<String>)> {
        let (driver, fallback) = Driver::new(wanted)?;
        let mut io = Self {
            driver,
            buffers: Buffers::new()?,
            blocks: Blocks::new(),
            conns: Slab::new(),
            listeners: Slab::new(),
            addresses: Vec::new(),
            starved: VecDeque::new(),
            lingering: VecDeque::new(),
            bell,
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

    /// True when waiting would return at once.
    #[inline]
    pub fn has_work(&mut self) -> bool {
        match &mut self.driver {
            Driver::Uring(uring) => uring.has_work(),
            Driver::Epoll(_) => false,
        }
    }

    /// One trip to the kernel, and all that came of it.
    pub fn turn(&mut self, timeout: Option<Duration>) {
        self.metrics.turns += 1;
        self.driver.wait(timeout, &mut self.metrics);
        while let Some(event) = self.driver.next_event() {
            self.metrics.events += 1;
            self.dispatch(event);
        }
        if !self.lingering.is_empty() {
            self.end_lingering();
        }
        self.metrics.connections = self.conns.len() as u64;
    }

    #[inline]
    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Received {
                key,
                result,
                buffer,
                more,
            } => self.received(key, result, buffer, more),
            Event::Sent { key, result } => self.sent(key, result),
            Event::Accepted { key, result, more } => self.accepted(key, result, more),
            Event::Connected { key, result } => self.connected(key, result),
            Event::Readable { key } => self.readable(key),
            Event::Writable { key } => self.writable(key),
            Event::Acceptable { key } => self.acceptable(key),
            Event::Rung { more } => self.rung(more),
        }
    }

    fn watch_bell(&mut self) -> io::Result<()> {
        match &mut self.driver {
            Driver::Uring(uring) => uring.watch_bell(self.bell.as_raw_fd()),
            Driver::Epoll(epoll) => {
                let key = Key {
                    index: 0,
                    generation: 0,
                };
                epoll.watch(
                    Kind::Bell,
                    key,
                    self.bell.as_fd(),
                    false,
                    Interest {
                        input: true,
                        output: false,
                    },
                )?;
            }
        }
        Ok(())
    }

    fn rung(&mut self, more: bool) {
        let _ = rustix::io::read(&*self.bell, &mut [0u8; 8]);
        if !more {
            let _ = self.watch_bell();
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
