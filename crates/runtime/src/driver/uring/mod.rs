//! The io_uring backend: one ring a worker, one `io_uring_enter` a turn.
//!
//! Needs features of Linux 6.1, detected by trying: deferred task work, multishot receive, provided buffer rings.
//!
//! Invariant: memory that a request refers to stays valid and untouched until its last completion. The methods that hand
//! memory to the kernel are `unsafe` and demand this; `Io::shut_down` reaps every request before the memory is freed.

mod buffer_ring;
mod setup;

use crate::buffers::recv::{BUFFER_SIZE, RING};
use crate::{driver::user_data::OpKind, metrics::Metrics, slab::Key, task::registry::Remote};
use buffer_ring::BufferRing;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use setup::Feature;
pub(crate) use setup::Features;
pub use setup::RingFeature;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::{io, mem::MaybeUninit, ptr::NonNull, sync::Arc, time::Duration};

/// The buffer group of a worker.
const GROUP: u16 = 0;
const ENTER_GETEVENTS: u32 = 1;
const ENTER_EXT_ARG: u32 = 1 << 3;
const ENTER_NO_IOWAIT: u32 = 1 << 7;

pub(crate) struct Uring {
    ring: IoUring,
    buffers: BufferRing,
    /// Requests the kernel holds that will post at least one more completion (except cancels and the wake descriptor).
    in_flight: u32,
    enter_flags: u32,
    features: Features,
    /// The workers whose rings are named by messages that may still be queued.
    messaged: Vec<Arc<Remote>>,
}

impl Uring {
    /// Sets up a ring, with the optional features that are not left out.
    pub fn new(mut features: Features) -> io::Result<Self> {
        let ring = setup::ring(&mut features)?;
        let buffers = BufferRing::new(&ring, RING, GROUP)?;
        let mut enter_flags = ENTER_GETEVENTS | ENTER_EXT_ARG;
        if features.has(Feature::NoIowait) {
            enter_flags |= ENTER_NO_IOWAIT;
        }
        Ok(Self { ring, buffers, in_flight: 0, enter_flags, features, messaged: Vec::new() })
    }

    pub fn features(&self) -> Vec<RingFeature> {
        self.features.report()
    }

    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Provides a buffer to the kernel.
    ///
    /// # Safety
    /// The buffer at `start` is free: nothing else refers to its memory until a completion names it.
    #[inline(always)]
    pub unsafe fn provide(&mut self, start: NonNull<u8>, buffer: u16) {
        // SAFETY: as demanded of the caller; a buffer has that size.
        unsafe { self.buffers.provide(start, BUFFER_SIZE as u32, buffer) };
    }

    #[inline(always)]
    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: what an entry refers to stays valid by the invariant of the module.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.flush();
        }
    }

    /// Submits without waiting, and does the work that the kernel has deferred.
    #[cold]
    pub fn flush(&mut self) {
        let queued = self.ring.submission().len() as u32;
        // SAFETY: no argument is passed. An error (EBUSY, EAGAIN, EINTR) leaves the entries queued; the caller tries again.
        let _ = unsafe { self.ring.submitter().enter::<()>(queued, 0, ENTER_GETEVENTS, None) };
    }

    #[inline]
    pub fn receive(&mut self, key: Key, fd: RawFd) {
        self.in_flight += 1;
        self.push(&opcode::RecvMulti::new(Fd(fd), GROUP).build().user_data(OpKind::Receive.tag(key)));
    }

    /// # Safety
    /// `from` points to `len` bytes that stay valid and unchanged until the send's last completion.
    #[inline(always)]
    pub unsafe fn send(&mut self, key: Key, fd: RawFd, from: NonNull<u8>, len: u32) {
        self.in_flight += 1;
        // Without MSG_WAITALL: Linux would return what was sent before an error as a success, and the error to no call.
        let send = opcode::Send::new(Fd(fd), from.as_ptr(), len).flags(libc::MSG_NOSIGNAL);
        self.push(&send.build().user_data(OpKind::Send.tag(key)));
    }

    /// # Safety
    /// `address` stays valid, and where it is, until the connect has completed.
    pub unsafe fn connect(&mut self, key: Key, fd: RawFd, address: &socket2::SockAddr) {
        self.in_flight += 1;
        let connect = opcode::Connect::new(Fd(fd), address.as_ptr().cast(), address.len());
        self.push(&connect.build().user_data(OpKind::Connect.tag(key)));
    }

    /// # Safety
    /// What `entry` refers to stays valid, and where it is, until the completion.
    pub unsafe fn operate(&mut self, key: Key, entry: squeue::Entry) {
        self.in_flight += 1;
        self.push(&entry.user_data(OpKind::Operation.tag(key)));
    }

    /// Completes once, when the descriptor is ready for the operation.
    pub fn poll(&mut self, kind: OpKind, key: Key, fd: RawFd) {
        self.in_flight += 1;
        let events = if kind == OpKind::WatchOutput { libc::POLLOUT } else { libc::POLLIN | libc::POLLRDHUP };
        self.push(&opcode::PollAdd::new(Fd(fd), events as u32).build().user_data(kind.tag(key)));
    }

    pub fn cancel(&mut self, kind: OpKind, key: Key) {
        let cancel = opcode::AsyncCancel::new(kind.tag(key)).build().user_data(OpKind::Cancel.tag(key));
        self.push(&cancel.flags(squeue::Flags::SKIP_SUCCESS));
    }

    pub fn arm_wake_fd(&mut self, fd: RawFd) {
        let poll = opcode::PollAdd::new(Fd(fd), libc::POLLIN as u32).multi(true);
        self.push(&poll.build().user_data(OpKind::WakeFd.tag(Key::default())));
    }

    /// A duplicate of the ring's descriptor, for other workers to send messages to.
    pub fn ring_fd(&self) -> Option<OwnedFd> {
        // SAFETY: the ring is open as long as `self` is.
        let ring = unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) };
        self.features.has(Feature::RingMessage).then(|| ring.try_clone_to_owned().ok()).flatten()
    }

    /// Sends a message to another worker's ring, at once, with everything else that is queued. Completes only on failure.
    pub fn message(&mut self, to: Arc<Remote>) {
        let Some(ring_fd) = &to.ring_fd else { return };
        let key = Key { index: u32::from(to.id), generation: 0 };
        let tag = OpKind::Message.tag(key);
        let message = opcode::MsgRingData::new(Fd(ring_fd.as_raw_fd()), 0, tag, None).build().user_data(tag);
        self.push(&message.flags(squeue::Flags::SKIP_SUCCESS));
        self.messaged.push(to);
        self.flush();
        if !self.has_queued() {
            self.messaged.clear();
        }
    }

    /// Whether a completion is waiting, or the kernel has deferred work that would post one.
    #[inline]
    pub fn has_work(&mut self) -> bool {
        !self.ring.completion().is_empty() || self.ring.submission().taskrun()
    }

    pub fn has_queued(&mut self) -> bool {
        !self.ring.submission().is_empty()
    }

    /// Submits what is queued and waits for completions; without a timeout if `None`.
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
        // The group is unregistered before its memory is unmapped.
        let _ = self.ring.submitter().unregister_buf_ring(GROUP);
    }
}
