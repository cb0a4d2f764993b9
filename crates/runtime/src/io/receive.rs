//! Receiving: events fill a connection's inbox, readers empty it, and a full inbox stops its receive.

use super::{Io, Part, as_completion, closed, from_errno};
use crate::buffers::recv::BUFFER_SIZE;
use crate::io::conn::{Direct, flag};
use crate::{driver::Driver, driver::user_data::OpKind, slab::Key, sys};
use std::task::{Context, Poll};
use std::{io, mem::MaybeUninit, os::fd::BorrowedFd, ptr::NonNull};

/// With any of these, no receive is armed.
const NOT_NOW: u16 = flag::RECEIVING | flag::NO_BUFFER | flag::EOF | flag::DROPPED | flag::CONNECTING | flag::LEAVING;
/// Epoll: reads from one ready descriptor per turn; enough for bursts, and fair to other connections.
const READS_A_TURN: usize = 4;

impl Io {
    /// Returns a buffer that was lent to the user.
    #[inline(always)]
    pub fn end_lease(&mut self, buffer: u16) {
        self.buffers.leased -= 1;
        self.release_buffer(buffer);
    }

    /// Arms the receive, unless it is armed or the connection can deliver nothing.
    #[inline]
    pub(super) fn start_receive(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        if conn.has(NOT_NOW) || conn.read_errno != 0 {
            return;
        }
        conn.set(flag::RECEIVING);
        match &mut self.driver {
            Driver::Uring(uring) if conn.has(flag::LARGE) => uring.poll(OpKind::Receive, key, conn.fd),
            Driver::Uring(uring) => uring.receive(key, conn.fd),
            Driver::Epoll(_) => self.update_interest(key),
        }
    }

    /// Cancels an armed receive; data on the way is still delivered.
    pub(super) fn stop_receive(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        match &mut self.driver {
            Driver::Uring(uring) if conn.flags & (flag::RECEIVING | flag::STOPPING) == flag::RECEIVING => {
                conn.set(flag::STOPPING);
                uring.cancel(OpKind::Receive, key);
            }
            Driver::Uring(_) => (),
            Driver::Epoll(_) => {
                conn.clear(flag::RECEIVING);
                self.update_interest(key);
            }
        }
    }

    /// Stops receiving until [`resume_receive`](Self::resume_receive): what was received is still to be read, and what comes stays
    /// with the kernel.
    pub fn poll_pause(&mut self, key: Key, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let Some(conn) = self.conns.get(key) else { return Poll::Ready(Err(closed())) };
        conn.set(flag::LEAVING);
        self.stop_receive(key);
        match self.conns.get(key) {
            Some(conn) if conn.has(flag::RECEIVING) => {
                self.wakers.park(&mut conn.reader, cx);
                Poll::Pending
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    pub fn resume_receive(&mut self, key: Key) {
        if let Some(conn) = self.conns.get(key) {
            conn.clear(flag::LEAVING);
        }
    }

    /// Whether reading would not wait: bytes, the end or an error are there.
    pub fn has_input(&mut self, key: Key) -> bool {
        self.conns.get(key).is_none_or(|conn| conn.front().is_some() || conn.has(flag::EOF) || conn.read_errno != 0)
    }

    /// Handles the completion of a receive, or a call. `unread`: the socket has more bytes, or may have.
    #[inline(always)]
    pub(super) fn received(&mut self, key: Key, result: i32, buffer: Option<u16>, more: bool, unread: bool) {
        let Some(conn) = self.conns.get(key) else { return self.drop_received(buffer) };
        if !more {
            conn.clear(flag::RECEIVING | flag::STOPPING);
            if conn.has(flag::LEAVING) {
                self.wakers.wake(&mut conn.reader);
                self.wakers.wake(&mut conn.writer);
            }
        }
        // One comparison: not empty, and less than the buffer holds.
        if (result as u32).wrapping_sub(1) < BUFFER_SIZE as u32 - 1
            && let Some(buffer) = buffer
            && !conn.has(flag::DROPPED | flag::LARGE)
        {
            conn.push_segment(&mut self.buffers, buffer, result as u16);
            if let Some(active) = &mut self.active {
                active.insert(key);
            }
            self.wakers.wake(&mut conn.reader);
            if more && conn.inbox_len >= self.buffers.inbox_limit {
                self.pause_receive(key);
            }
            return;
        }
        self.received_otherwise(key, result, buffer, more, unread);
    }

    /// Everything but a short piece for a live connection.
    #[inline(never)]
    fn received_otherwise(&mut self, key: Key, result: i32, buffer: Option<u16>, more: bool, unread: bool) {
        match (buffer, self.conns.get(key)) {
            (Some(buffer), Some(conn)) if result > 0 && !conn.has(flag::DROPPED) => {
                conn.push_segment(&mut self.buffers, buffer, result as u16);
                self.wakers.wake(&mut conn.reader);
                if more && conn.inbox_len >= self.buffers.inbox_limit {
                    self.pause_receive(key);
                }
                self.adapt_buffer_size(key, result as usize, unread);
            }
            (None, _) if result > 0 => self.polled_readable(key),
            (_, conn) => {
                if result > 0
                    && let Some(conn) = conn
                {
                    conn.set(flag::UNREAD);
                }
                self.drop_received(buffer);
                self.receive_ended(key, result);
            }
        }
    }

    #[cold]
    fn drop_received(&mut self, buffer: Option<u16>) {
        if let Some(buffer) = buffer {
            self.release_buffer(buffer);
        }
    }

    #[cold]
    fn pause_receive(&mut self, key: Key) {
        self.metrics.backpressure += 1;
        self.stop_receive(key);
    }

    /// Handles a completion without data: the end of the stream, an error, or a receive that was stopped.
    #[cold]
    pub(super) fn receive_ended(&mut self, key: Key, result: i32) {
        let Some(conn) = self.conns.get(key) else { return };
        if conn.has(flag::DROPPED) {
            return self.close_if_quiet(key);
        }
        match -result {
            0 => conn.end_input(),
            libc::ENOBUFS => return self.on_no_buffers(key),
            // Cancelled or interrupted: the reader arms it again when the inbox is empty.
            libc::ECANCELED | libc::EINTR | libc::EAGAIN => {
                if conn.front().is_none() && !conn.reader.is_none() {
                    self.start_receive(key);
                }
                return;
            }
            errno if errno > 0 => conn.fail(errno as u16),
            _ => return,
        }
        self.wakers.wake(&mut conn.reader);
        if matches!(self.driver, Driver::Epoll(_)) {
            // Level-triggered epoll would report an ended descriptor forever.
            conn.clear(flag::RECEIVING);
            self.update_interest(key);
        }
    }

    /// Io_uring: a poll has found the socket readable.
    pub(super) fn polled_readable(&mut self, key: Key) {
        if self.conns.get(key).is_some_and(|conn| !conn.has(NOT_NOW)) {
            self.readable(key);
        }
        self.receive_ended(key, -libc::EAGAIN);
    }

    fn found_no_buffer(&mut self, key: Key) {
        if let Driver::Uring(_) = self.driver {
            return self.wait_for_large(key);
        }
        self.stop_receive(key);
        self.on_no_buffers(key);
    }

    /// A socket that is not received from by a multishot request is readable: reads into the inbox, unless the next read is direct.
    pub(super) fn readable(&mut self, key: Key) {
        if self.conns.get(key).is_some_and(|conn| conn.direct != Direct::No) {
            return self.readable_direct(key);
        }
        for _ in 0..READS_A_TURN {
            let Some(conn) = self.conns.get(key) else { return };
            if matches!(self.driver, Driver::Epoll(_)) && !conn.has(flag::RECEIVING) {
                return;
            }
            let (fd, large) = (conn.fd, conn.has(flag::LARGE));
            let Some((buffer, size)) = self.take_buffer(large) else {
                return self.found_no_buffer(key);
            };
            // SAFETY: the buffer is free, so no segment, lease or request refers to it; it holds that many bytes.
            let into = unsafe { std::slice::from_raw_parts_mut(self.buffers.address(buffer).cast().as_ptr(), size) };
            // SAFETY: the descriptor of a live slot is open.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            let result = as_completion(sys::receive(fd, into));
            if result == -libc::EAGAIN {
                return self.release_buffer(buffer);
            }
            self.received(key, result, Some(buffer), true, true);
            if result < size as i32 {
                return;
            }
        }
    }

    /// The result with an empty inbox: the end of the stream, an error, or a wait for bytes in the worker's buffers.
    #[inline]
    pub(super) fn poll_empty<T>(&mut self, key: Key, cx: &Context<'_>, end: T) -> Poll<io::Result<T>> {
        if let Some(conn) = self.conns.get(key) {
            conn.direct = Direct::No;
        }
        self.wait_for_input(key, cx, end)
    }

    /// As [`poll_empty`](Self::poll_empty), whichever memory the next bytes go to.
    #[inline]
    pub(super) fn wait_for_input<T>(&mut self, key: Key, cx: &Context<'_>, end: T) -> Poll<io::Result<T>> {
        let Some(conn) = self.conns.get(key) else { return Poll::Ready(Err(closed())) };
        if conn.has(flag::EOF) {
            return Poll::Ready(Ok(end));
        }
        if conn.read_errno != 0 {
            return Poll::Ready(Err(from_errno(conn.read_errno)));
        }
        self.wakers.park(&mut conn.reader, cx);
        if !conn.has(flag::RECEIVING) {
            self.start_receive(key);
        }
        Poll::Pending
    }

    /// Lends the oldest segment of the inbox to the user; `None` is the end of the stream.
    #[inline(always)]
    pub fn poll_receive(&mut self, key: Key, cx: &Context<'_>) -> Poll<io::Result<Option<Part>>> {
        let Some(buffer) = self.conns.get(key).and_then(|conn| conn.pop_segment(&mut self.buffers)) else {
            return self.poll_empty(key, cx, None);
        };
        let segment = *self.buffers.segment(buffer);
        self.buffers.leased += 1;
        // SAFETY: a segment lies inside its buffer.
        let start = unsafe { self.buffers.address(buffer).add(usize::from(segment.offset)) };
        Poll::Ready(Ok(Some((buffer, start, u32::from(segment.len)))))
    }

    /// Empties the inbox.
    pub(super) fn take_inbox(&mut self, key: Key, mut take: impl FnMut(&[u8])) {
        while let Some(buffer) = self.conns.get(key).and_then(|conn| conn.pop_segment(&mut self.buffers)) {
            let segment = *self.buffers.segment(buffer);
            // SAFETY: the segment lies inside its buffer, which the kernel has completed and nothing else refers to.
            let bytes = unsafe {
                let start = self.buffers.address(buffer).add(usize::from(segment.offset));
                std::slice::from_raw_parts(start.as_ptr(), usize::from(segment.len))
            };
            take(bytes);
            self.release_buffer(buffer);
        }
    }

    /// Copies from the inbox as much as there is and fits; 0 is the end of the stream.
    #[inline]
    pub fn poll_read(
        &mut self,
        key: Key,
        cx: &Context<'_>,
        mut into: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        if into.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let mut copied = 0;
        while !into.is_empty() {
            let Some(conn) = self.conns.get(key) else { break };
            let Some(buffer) = conn.front() else { break };
            let segment = *self.buffers.segment(buffer);
            let len = usize::from(segment.len).min(into.len());
            // SAFETY: the segment lies inside its buffer, which the kernel has completed; the caller's `into` cannot overlap it.
            unsafe {
                let from = self.buffers.address(buffer).add(usize::from(segment.offset));
                from.copy_to_nonoverlapping(NonNull::from(&mut *into).cast(), len);
            }
            copied += len;
            into = &mut into[len..];
            if len == usize::from(segment.len) {
                conn.pop_segment(&mut self.buffers);
                self.release_buffer(buffer);
            } else {
                let segment = self.buffers.segment(buffer);
                segment.offset += len as u16;
                segment.len -= len as u16;
            }
        }
        if copied == 0 {
            return self.poll_direct(key, cx, into);
        }
        Poll::Ready(Ok(copied))
    }
}
