//! The io_uring backend: one ring a worker, one `io_uring_enter` a turn.
//!
//! Needs what Linux 6.1 brought (deferred task work, multishot accept and receive, provided buffer rings), found by
//! trying and never by version. The memory that requests point to belongs to [`crate::buffers`] and [`crate::blocks`]
//! and outlives the ring; `Io::shut_down` reaps every request before any of it is freed.

mod setup;

use crate::{
    buffers::{BUFFER_SIZE, Buffers, RING},
    event::Kind,
    metrics::Metrics,
    slab::Key,
};
use io_uring::{
    IoUring, cqueue, opcode, squeue,
    types::{BufRingEntry, Fd, SubmitArgs, Timespec},
};
use std::{
    io,
    mem::MaybeUninit,
    os::fd::RawFd,
    ptr::NonNull,
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

/// The one buffer group of a worker.
const GROUP: u16 = 0;
const ENTER_GETEVENTS: u32 = 1;
const ENTER_EXT_ARG: u32 = 1 << 3;

pub(crate) struct Uring {
    ring: IoUring,
    buffer_ring: NonNull<BufRingEntry>,
    buffer_tail: u16,
    /// Requests the kernel holds that will post at least one more completion (cancels and the bell aside).
    in_flight: u32,
    enter_flags: u32,
}

impl Uring {
    /// Sets up a ring, or says why this machine has none for us.
    pub fn new() -> io::Result<Self> {
        let ring = setup::ring()?;
        let buffer_ring = setup::buffer_ring(&ring)?;
        let enter_flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
        Ok(Self { ring, buffer_ring, buffer_tail: 0, in_flight: 0, enter_flags })
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Hands a buffer to the kernel.
    #[inline]
    pub fn give(&mut self, buffers: &Buffers, buffer: u16) {
        let slot = usize::from(self.buffer_tail & (RING - 1));
        // SAFETY: `slot` is below the ring's RING entries; entries from the published tail on are ours to write, and
        // there are never more than RING buffers in it (see `io::hunger`), so the kernel has consumed the one that stood
        // here.
        let entry = unsafe { &mut *self.buffer_ring.as_ptr().add(slot) };
        entry.set_addr(buffers.address(buffer).as_ptr() as u64);
        entry.set_len(BUFFER_SIZE as u32);
        entry.set_bid(buffer);
        self.buffer_tail = self.buffer_tail.wrapping_add(1);
        // SAFETY: the tail lies in the mapped ring, where the kernel reads it with acquire semantics.
        let tail = unsafe { &*BufRingEntry::tail(self.buffer_ring.as_ptr()).cast::<AtomicU16>() };
        tail.store(self.buffer_tail, Ordering::Release);
    }

    /// How many buffers have ever been handed to the kernel, modulo 2^16.
    pub fn given(&self) -> u16 {
        self.buffer_tail
    }

    #[inline(always)]
    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: every entry is built in this file; what it points to stays valid as the module's head says.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.flush();
        }
    }

    /// Submits without waiting, to make room.
    #[cold]
    fn flush(&mut self) {
        let queued = self.ring.submission().len() as u32;
        // SAFETY: no argument is passed. An error (EBUSY, EAGAIN, EINTR) leaves the entries queued; the caller tries again.
        let _ = unsafe { self.ring.submitter().enter::<()>(queued, 0, ENTER_GETEVENTS, None) };
    }

    #[inline]
    pub fn receive(&mut self, key: Key, fd: RawFd) {
        self.in_flight += 1;
        self.push(&opcode::RecvMulti::new(Fd(fd), GROUP).build().user_data(Kind::Receive.tag(key)));
    }

    #[inline(always)]
    pub fn send(&mut self, key: Key, fd: RawFd, from: NonNull<u8>, len: u32) {
        self.in_flight += 1;
        let send = opcode::Send::new(Fd(fd), from.as_ptr(), len).flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL);
        self.push(&send.build().user_data(Kind::Send.tag(key)));
    }

    pub fn accept(&mut self, key: Key, fd: RawFd) {
        self.in_flight += 1;
        let accept = opcode::AcceptMulti::new(Fd(fd)).flags(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK);
        self.push(&accept.build().user_data(Kind::Accept.tag(key)));
    }

    /// `address` must stay where it is until the connect has ended.
    pub fn connect(&mut self, key: Key, fd: RawFd, address: &socket2::SockAddr) {
        self.in_flight += 1;
        let connect = opcode::Connect::new(Fd(fd), address.as_ptr().cast(), address.len());
        self.push(&connect.build().user_data(Kind::Connect.tag(key)));
    }

    /// Asks for the end of a request; its last completion says how it ended.
    pub fn cancel(&mut self, kind: Kind, key: Key) {
        let cancel = opcode::AsyncCancel::new(kind.tag(key)).build().user_data(Kind::Cancel.tag(key));
        self.push(&cancel.flags(squeue::Flags::SKIP_SUCCESS));
    }

    /// Completes whenever the eventfd is written to.
    pub fn watch_bell(&mut self, fd: RawFd) {
        let poll = opcode::PollAdd::new(Fd(fd), libc::POLLIN as u32).multi(true);
        self.push(&poll.build().user_data(Kind::Bell.tag(Key { index: 0, generation: 0 })));
    }

    /// True when a completion is waiting, or the kernel has deferred work that would make one.
    #[inline]
    pub fn has_work(&mut self) -> bool {
        !self.ring.completion().is_empty() || self.ring.submission().taskrun()
    }

    /// Submits what is queued and waits: not at all for `Some(0)`, for ever for `None`.
    pub fn wait(&mut self, timeout: Option<Duration>, metrics: &mut Metrics) {
        let queue = self.ring.submission();
        let (queued, overflow) = (queue.len() as u32, queue.cq_overflow());
        drop(queue);
        metrics.submitted += u64::from(queued);
        metrics.completion_overflows += u64::from(overflow);
        let sleeps = timeout != Some(Duration::ZERO);
        if !sleeps && queued == 0 && !overflow && !self.ring.submission().taskrun() {
            return;
        }
        metrics.enters += 1;
        let spec = timeout.map(|t| Timespec::new().sec(t.as_secs()).nsec(t.subsec_nanos()));
        let mut args = SubmitArgs::new();
        if let Some(spec) = spec.as_ref().filter(|_| sleeps) {
            args = args.timespec(spec);
        }
        // SAFETY: `args` has the layout that EXT_ARG announces and lives through the call.
        let entered = unsafe { self.ring.submitter().enter(queued, u32::from(sleeps), self.enter_flags, Some(&args)) };
        match entered.as_ref().map_err(io::Error::raw_os_error) {
            // EINTR: a signal; ETIME: the timeout; EBUSY: completions must be read first; EAGAIN: the kernel is short of
            // memory. Whatever was not submitted stays queued for the next turn.
            Ok(_) | Err(Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN)) => (),
            Err(_) => panic!("io_uring_enter failed: {}", entered.unwrap_err()),
        }
    }

    /// Takes completions off the ring, as many as there are and fit.
    #[inline]
    pub fn take<'a>(&mut self, into: &'a mut [MaybeUninit<cqueue::Entry>]) -> &'a [cqueue::Entry] {
        self.ring.completion().fill(into)
    }

    /// A request has posted its last completion.
    #[inline]
    pub fn ended(&mut self) {
        self.in_flight -= 1;
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let _ = self.ring.submitter().unregister_buf_ring(GROUP);
        setup::free_buffer_ring(self.buffer_ring);
    }
}
