//! A worker's I/O: connections, watched descriptors, buffers, and the events that drive them.
//!
//! ```text
//! poll_* (a task asks) -> driver: request or interest -> turn: completion or event -> state of the connection -> Wakers
//! ```
//! Invariant: no user code runs here. Events end in [`Wakers`], which keep foreign wakers until nothing is borrowed.

mod active_set;
#[cfg(test)]
mod audit;
mod buffer_pool;
mod close;
mod conn;
mod connect;
pub(crate) mod direct;
mod large;
mod operation;
mod readiness;
mod receive;
mod transmit;
#[cfg(any(test, feature = "sim"))]
mod waits;
mod wake_fd;

use crate::buffers::recv::RecvBuffers;
use crate::buffers::send::SendBuffers;
use crate::driver::epoll::{Event, Interest};
use crate::driver::uring::{Features, RingFeature};
use crate::driver::user_data::OpKind;
use crate::driver::{BackendKind, Driver};
use crate::io::conn::{Conn, flag};
use crate::metrics::Metrics;
use crate::named::named;
use crate::slab::{Key, Slab};
use crate::task::queue::Tasks;
use crate::task::waiter::Wakers;
use active_set::ActiveSet;
use buffer_pool::Replenisher;
use io_uring::cqueue;
use large::LargeWaits;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;
use std::{collections::VecDeque, io, mem::MaybeUninit, ptr::NonNull, rc::Rc, sync::Arc};

pub(crate) use close::LINGER;
pub(crate) use readiness::Direction;

/// A buffer lent to the user: its number, the start of its data, and their length.
pub(crate) type Part = (u16, NonNull<u8>, u32);

/// Turns without a free buffer after which connections that wait for one are helped otherwise: by overflow buffers, or by usual ones
/// in place of large ones. Tasks about to run and sends just begun may return some.
const BUFFER_DELAY: u8 = 2;
/// Turns at the end of `block_on`, at most: each may queue requests for the next.
const SETTLING: u32 = 3;
/// Completions taken off the ring at a time.
const BATCH: usize = 64;

// The driver is dropped first, so the ring is closed before its memory is freed. Closing alone ends no request: the memory is
// unmapped only after `shut_down` has reaped all completions.
pub(crate) struct Io {
    driver: Driver,
    buffers: RecvBuffers,
    send_buffers: SendBuffers,
    conns: Slab<Conn>,
    watches: Slab<readiness::Watched>,
    operations: Slab<operation::Operation>,
    /// Addresses of connects in flight, which the kernel reads.
    addresses: Vec<(Key, Box<socket2::SockAddr>)>,
    replenisher: Replenisher,
    large_waits: LargeWaits,
    /// Dropped connections whose sends are in flight, and when each is cancelled.
    lingering: VecDeque<close::Lingering>,
    linger: Duration,
    /// How long the end of the worker waits for the sends in flight.
    end_timeout: Duration,
    wake_fd: Arc<OwnedFd>,
    /// Only if the worker may spin.
    active: Option<ActiveSet>,
    /// Sends of this turn that are calls of their own, from here on.
    sends_at_once: u32,
    pub wakers: Wakers,
    pub metrics: Metrics,
}

impl Io {
    /// `few` is the limit of active connections for spinning. Also returns why the backend is not io_uring, if so.
    pub fn new(
        wanted: Option<BackendKind>,
        features: Features,
        few: Option<u32>,
        wake_fd: Arc<OwnedFd>,
        tasks: Rc<Tasks>,
    ) -> io::Result<(Self, Option<String>)> {
        let (driver, fallback) = Driver::new(wanted, features)?;
        let mut io = Self {
            driver,
            buffers: RecvBuffers::new()?,
            send_buffers: SendBuffers::new(),
            conns: Slab::new(),
            watches: Slab::new(),
            operations: Slab::new(),
            addresses: Vec::new(),
            replenisher: Replenisher::new(),
            large_waits: LargeWaits::default(),
            lingering: VecDeque::new(),
            linger: LINGER,
            end_timeout: LINGER,
            wake_fd,
            active: few.map(ActiveSet::new),
            sends_at_once: 0,
            wakers: Wakers::new(tasks),
            metrics: Metrics::default(),
        };
        io.provide_more();
        // After an error: no request was submitted.
        io.arm_wake_fd().inspect_err(|_| io.free_memory_on_drop())?;
        Ok((io, fallback))
    }

    /// The simulated machine that this worker is one of.
    #[cfg(any(test, feature = "sim"))]
    pub fn world(&self) -> Option<Rc<crate::sim_kernel::Machine>> {
        if let Driver::Uring(ring) = &self.driver { ring.world().map(|ring| ring.machine.clone()) } else { None }
    }

    /// The number of its ring there.
    #[cfg(any(test, feature = "sim"))]
    pub fn world_ring(&self) -> Option<usize> {
        if let Driver::Uring(ring) = &self.driver { ring.world().map(|ring| ring.index) } else { None }
    }

    #[cfg(any(test, feature = "sim"))]
    pub fn submit_to_world(&self) {
        if let Driver::Uring(ring) = &self.driver {
            ring.world().inspect(|ring| ring.submit());
        }
    }

    /// Submits what is queued and handles what that brings, without waiting: a send that has ended may be followed by a shutdown, and
    /// a receive that was cancelled by the close of its socket.
    pub fn settle(&mut self) {
        // Epoll has no queue: its calls have ended.
        if matches!(self.driver, Driver::Epoll(_)) {
            return;
        }
        for _ in 0..SETTLING {
            if !self.has_queued() && !self.has_work() {
                return;
            }
            self.turn(Some(Duration::ZERO));
        }
    }

    pub fn backend(&self) -> BackendKind {
        self.driver.kind()
    }

    pub fn features(&self) -> Vec<RingFeature> {
        if let Driver::Uring(uring) = &self.driver { uring.features() } else { Vec::new() }
    }

    pub fn adopt(&mut self, fd: RawFd) -> Key {
        self.conns.insert(Conn::new(fd))
    }

    fn fd(&mut self, key: Key) -> io::Result<BorrowedFd<'_>> {
        let conn = self.conns.get(key).ok_or_else(closed)?;
        // SAFETY: the descriptor of a live slot is open, and the borrow of `self` keeps it from being closed.
        Ok(unsafe { BorrowedFd::borrow_raw(conn.fd) })
    }

    /// Whether few connections are active, so that a sleep would not batch requests.
    pub fn is_quiet(&self) -> bool {
        self.active.is_some_and(|active| active.is_few())
    }

    #[inline]
    pub fn has_work(&mut self) -> bool {
        match &mut self.driver {
            Driver::Uring(uring) => uring.has_work(),
            Driver::Epoll(epoll) => epoll.has_work(),
        }
    }

    #[inline]
    pub fn has_queued(&mut self) -> bool {
        if let Driver::Uring(uring) = &mut self.driver { uring.has_queued() } else { false }
    }

    /// Whether nothing is ready, and no event that has arrived will make it so.
    pub fn is_idle(&mut self) -> bool {
        self.wakers.is_idle() && !self.needs_replenishing() && !self.has_work()
    }

    /// Whether the kernel may report an event at any time.
    pub fn has_io(&self) -> bool {
        self.conns.len() + self.watches.len() + self.operations.len() > 0
    }

    /// Operations of files, which end without a peer.
    pub fn has_operations_in_flight(&self) -> bool {
        self.operations.len() > 0
    }

    /// Makes one call into the kernel and handles all events.
    pub fn turn(&mut self, timeout: Option<Duration>) {
        self.metrics.turns += 1;
        let before = self.metrics.events;
        if !self.replenisher.is_idle() {
            self.replenish();
        }
        self.driver.wait(timeout, &mut self.metrics);
        match &self.driver {
            Driver::Uring(_) => self.reap(),
            Driver::Epoll(_) => self.ready(),
        }
        if !self.large_waits.is_idle() {
            self.help_large();
        }
        self.metrics.count_batch(self.metrics.events - before);
        if !self.lingering.is_empty() {
            self.end_lingering();
        }
    }

    pub fn report(&self) -> Metrics {
        let (connections, spare_buffers) = (self.conns.len() as u64, u64::from(self.buffers.overflow_in_use()));
        Metrics { connections, spare_buffers, ..self.metrics }
    }

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

    #[inline(always)]
    fn completed(&mut self, data: u64, result: i32, flags: u32) {
        let (kind, key) = OpKind::untag(data);
        let more = cqueue::more(flags);
        match kind {
            Some(OpKind::Receive) => {
                self.count_ended(more);
                let buffer = cqueue::buffer_select(flags);
                if buffer.is_some() {
                    self.replenisher.on_buffer_used();
                }
                self.received(key, result, buffer, more, cqueue::sock_nonempty(flags));
            }
            Some(OpKind::Send) => {
                self.count_ended(false);
                self.sent(key, result);
            }
            Some(OpKind::Connect) => {
                self.count_ended(false);
                self.connected(key, result);
            }
            Some(OpKind::Operation) => self.operated(key, result),
            Some(OpKind::WakeFd) => self.on_wake(more),
            Some(OpKind::Message) => self.messaged(result, key.index),
            _ => self.polled(data, result),
        }
    }

    #[inline]
    fn count_ended(&mut self, more: bool) {
        if !more && let Driver::Uring(uring) = &mut self.driver {
            uring.ended();
        }
    }

    fn ready(&mut self) {
        while let Driver::Epoll(epoll) = &mut self.driver
            && let Some(event) = epoll.next_event()
        {
            self.metrics.events += 1;
            match event {
                Event::Readable(key) => self.readable(key),
                Event::Writable(key) => self.writable(key),
                Event::Wake => self.on_wake(true),
                Event::Watched(key) => self.watched(key),
            }
        }
    }

    /// Epoll: sets the interest to what the connection waits for.
    fn update_interest(&mut self, key: Key) {
        let (Driver::Epoll(epoll), Some(conn)) = (&mut self.driver, self.conns.get(key)) else { return };
        let interest = Interest {
            input: conn.has(flag::RECEIVING),
            output: conn.has(flag::SENDING | flag::CONNECTING | flag::WANTS_OUTPUT),
            once: false,
        };
        // SAFETY: the descriptor of a live slot is open.
        let fd = unsafe { BorrowedFd::borrow_raw(conn.fd) };
        match epoll.watch(OpKind::Conn, key, fd, conn.has(flag::REGISTERED), interest) {
            Ok(true) => conn.set(flag::REGISTERED),
            Ok(false) => conn.clear(flag::REGISTERED),
            Err(error) => {
                // Out of watches or memory: the reader and writer get the error instead of waiting forever.
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
    io::Error::new(io::ErrorKind::NotConnected, "its runtime has shut down, or is that of another thread")
}

/// The result of a call as a completion has it: a number of bytes, or a negative errno.
fn as_completion(result: io::Result<usize>) -> i32 {
    result.map_or_else(|error| -error.raw_os_error().unwrap_or(libc::EIO), |len| len as i32)
}

fn from_errno(errno: u16) -> io::Error {
    let error = io::Error::from_raw_os_error(i32::from(errno));
    // That of no call: of a copy that was dropped, and of a send that took too long.
    if i32::from(errno) == libc::ECANCELED { named("bytes for the peer were given up before", error) } else { error }
}
