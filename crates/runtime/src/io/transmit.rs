//! Sending: one send in flight per connection; a writer waits for its end, which is the backpressure.
//!
//! On io_uring a send is a request that goes to the kernel with all others of the turn. Where a single task runs there is nothing to
//! share a call with, and the completion of the request would end the worker's sleep at once, so that a second call has to follow.
//! Then the send is a call of its own: two calls a reply instead of two that do more.

use super::{Io, Part, as_completion, closed, from_errno};
use crate::buffers::send::{BLOCK_SIZE, SendBuffers};
use crate::driver::{BackendKind, Driver};
use crate::io::conn::{Source, flag};
use crate::{slab::Key, sys};
use socket2::SockRef;
use std::io::{self, IoSlice};
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// Sends of a single task in a turn that are calls of their own; a task that sends to many shares one call among the others.
const SENDS_AT_ONCE: u32 = 4;

/// Pieces that the kernel takes per call (UIO_MAXIOV).
const MOST_PIECES: usize = 1024;

impl Io {
    /// Before the tasks of a turn run, of which so many are ready.
    #[inline]
    pub fn begin_polls(&mut self, ready: usize) {
        self.sends_at_once = if ready <= 1 && !self.driver.is_scripted() { SENDS_AT_ONCE } else { 0 };
    }

    /// Whether the next send is a call of its own.
    #[inline]
    fn is_sent_at_once(&mut self) -> bool {
        if self.driver.kind() == BackendKind::Epoll {
            return true;
        }
        let left = self.sends_at_once;
        self.sends_at_once = left.saturating_sub(1);
        left > 0
    }

    /// Waits until nothing is in flight; returns the error of an earlier send.
    #[inline]
    pub fn poll_flush(&mut self, key: Key, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let Some(conn) = self.conns.get(key) else { return Poll::Ready(Err(closed())) };
        if conn.write_errno != 0 {
            return Poll::Ready(Err(from_errno(conn.write_errno)));
        }
        if conn.has(flag::SENDING) {
            self.wakers.park(&mut conn.writer, cx);
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    /// Sends a buffer that was lent to the user and then returns it to the kernel. Takes the buffer only if `Ready(Ok)`.
    #[inline(always)]
    pub fn poll_send(&mut self, key: Key, cx: &Context<'_>, (buffer, start, len): Part) -> Poll<io::Result<()>> {
        let Some(conn) = self.conns.get(key) else { return Poll::Ready(Err(closed())) };
        if conn.has(flag::SENDING) || conn.write_errno != 0 {
            return self.poll_flush(key, cx);
        }
        self.buffers.leased -= 1;
        let offset = start.as_ptr() as usize - self.buffers.address(buffer).as_ptr() as usize;
        conn.set(flag::SENDING);
        (conn.source, conn.send_offset, conn.send_len) = (Source::buffer(buffer), offset as u16, len as u16);
        let fd = conn.fd;
        if self.is_sent_at_once() {
            self.send_at_once(key);
        } else if let Driver::Uring(uring) = &mut self.driver {
            // SAFETY: the caller has given up the buffer; it stays untouched until the last completion.
            unsafe { uring.send(key, fd, start, len) };
        }
        Poll::Ready(Ok(()))
    }

    /// Sends as much of `bytes` as possible without waiting, at least one byte.
    #[inline(always)]
    pub fn poll_write(&mut self, key: Key, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let send = |fd: BorrowedFd<'_>| sys::send(fd, bytes);
        self.poll_write_with(key, cx, bytes.len(), send, |buffers, block| buffers.fill(block, bytes))
    }

    /// As `poll_write`, for several pieces in one send.
    pub fn poll_write_vectored(
        &mut self,
        key: Key,
        cx: &Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = pieces.iter().position(|piece| !piece.is_empty()).unwrap_or(pieces.len());
        let pieces = &pieces[first..pieces.len().min(first + MOST_PIECES)];
        let len = pieces.iter().map(|piece| piece.len()).sum();
        let send = |fd: BorrowedFd<'_>| sys::send_pieces(fd, pieces);
        self.poll_write_with(key, cx, len, send, |buffers, block| buffers.gather(block, pieces))
    }

    /// Writes with `fill` into a send buffer or, if that is too small, shares no call or there is none as on epoll, with `send` into
    /// the socket.
    #[inline(always)]
    fn poll_write_with(
        &mut self,
        key: Key,
        cx: &Context<'_>,
        len: usize,
        send: impl Fn(BorrowedFd<'_>) -> io::Result<usize>,
        fill: impl FnOnce(&mut SendBuffers, u32) -> usize,
    ) -> Poll<io::Result<usize>> {
        let Some(conn) = self.conns.get(key) else { return Poll::Ready(Err(closed())) };
        if conn.has(flag::SENDING) || conn.write_errno != 0 {
            return self.poll_flush(key, cx).map_ok(|()| 0);
        }
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        if (self.is_sent_at_once() || len > BLOCK_SIZE)
            && let Some(written) = self.write_at_once(key, cx, send)
        {
            return written;
        }
        let (Driver::Uring(uring), Some(conn)) = (&mut self.driver, self.conns.get(key)) else {
            return Poll::Ready(Err(closed()));
        };
        let block = self.send_buffers.take()?;
        let len = fill(&mut self.send_buffers, block);
        conn.set(flag::SENDING);
        (conn.source, conn.send_offset, conn.send_len) = (Source::block(block), 0, len as u16);
        // SAFETY: the send buffer was taken, and stays untouched until the last completion releases it.
        unsafe { uring.send(key, conn.fd, self.send_buffers.address(block), len as u32) };
        Poll::Ready(Ok(len))
    }

    /// Writes from the caller's memory into the socket. If that is full: on epoll waits for room; on io_uring `None`, as a send
    /// that waits there is one of a send buffer.
    #[inline(never)]
    fn write_at_once(
        &mut self,
        key: Key,
        cx: &Context<'_>,
        send: impl Fn(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Option<Poll<io::Result<usize>>> {
        if self.driver.is_scripted() {
            return None;
        }
        let conn = self.conns.get(key)?;
        loop {
            // SAFETY: the descriptor of a live slot is open.
            let fd = unsafe { BorrowedFd::borrow_raw(conn.fd) };
            match send(fd).map_err(|error| error.raw_os_error()) {
                Ok(len) => return Some(Poll::Ready(Ok(len))),
                Err(Some(libc::EINTR)) => (),
                Err(Some(libc::EAGAIN)) if matches!(self.driver, Driver::Uring(_)) => return None,
                Err(Some(libc::EAGAIN)) => {
                    self.wakers.park(&mut conn.writer, cx);
                    conn.set(flag::WANTS_OUTPUT);
                    self.update_interest(key);
                    return Some(Poll::Pending);
                }
                Err(errno) => {
                    self.write_failed(key, errno.unwrap_or(libc::EIO));
                    return Some(self.poll_flush(key, cx).map_ok(|()| 0));
                }
            }
        }
    }

    /// Writing has failed, as the kernel says. EPIPE hides a reset that no call has told of yet. Returns the error of the connection.
    #[cold]
    pub fn write_failed(&mut self, key: Key, errno: i32) -> io::Error {
        let pending = |fd: BorrowedFd<'_>| sys::take_error(&SockRef::from(&fd)).ok().flatten();
        let reset = if errno == libc::EPIPE { self.fd(key).ok().and_then(pending) } else { None };
        let Some(conn) = self.conns.get(key) else { return closed() };
        conn.fail_write(reset.and_then(|error| error.raw_os_error()).unwrap_or(errno) as u16);
        from_errno(conn.write_errno)
    }

    /// The connection has failed in a call that was made beside the worker.
    #[cold]
    pub fn fail(&mut self, key: Key, errno: i32) {
        if let Some(conn) = self.conns.get(key) {
            conn.fail(errno as u16);
        }
    }

    fn source_address(&self, source: Source, offset: u16) -> NonNull<u8> {
        let start = match source.as_buffer() {
            Some(buffer) => self.buffers.address(buffer),
            None => self.send_buffers.address(source.as_block()),
        };
        // SAFETY: the offset of a send lies inside its buffer or block.
        unsafe { start.add(usize::from(offset)) }
    }

    /// What is left of the send of a connection, and its descriptor.
    #[inline]
    fn unsent(&mut self, key: Key) -> Option<(RawFd, NonNull<u8>, u16)> {
        let conn = self.conns.get(key)?;
        let (fd, len, source, offset) = (conn.fd, conn.send_len, conn.source, conn.send_offset);
        Some((fd, self.source_address(source, offset), len))
    }

    #[inline]
    fn continue_send(&mut self, key: Key) {
        if let Driver::Epoll(_) = self.driver {
            return self.send_at_once(key);
        }
        let Some((fd, start, len)) = self.unsent(key) else { return };
        if let Driver::Uring(uring) = &mut self.driver {
            // SAFETY: the memory of the send stays untouched until the last completion.
            unsafe { uring.send(key, fd, start, u32::from(len)) };
        }
    }

    #[inline]
    fn send_at_once(&mut self, key: Key) {
        let Some((fd, start, len)) = self.unsent(key) else { return };
        // SAFETY: the bytes were received or filled before, and stay untouched until the send has ended.
        let bytes = unsafe { std::slice::from_raw_parts(start.as_ptr(), usize::from(len)) };
        // SAFETY: the descriptor of a live slot is open.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        self.sent(key, as_completion(sys::send(fd, bytes)));
    }

    /// Handles the end of a send: of all bytes, of some, or an error.
    #[inline(always)]
    pub(super) fn sent(&mut self, key: Key, result: i32) {
        let Some(conn) = self.conns.get(key) else { return };
        if result != i32::from(conn.send_len) {
            return self.sent_short(key, result);
        }
        conn.clear(flag::SENDING);
        self.wakers.wake(&mut conn.writer);
        let (source, special) = (conn.source, conn.has(flag::WANTS_OUTPUT | flag::DROPPED | flag::ENDING));
        self.release_source(source);
        if special {
            self.sent_all(key);
        }
    }

    /// The rare steps after the last byte: stop watching for output, shut it down, close.
    #[cold]
    fn sent_all(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        let ending = conn.has(flag::ENDING);
        conn.clear(flag::ENDING);
        if conn.has(flag::WANTS_OUTPUT) {
            conn.clear(flag::WANTS_OUTPUT);
            self.update_interest(key);
        }
        if ending {
            self.shut_output(key);
        }
        self.close_if_quiet(key);
    }

    /// Shuts the write direction down after everything written was sent.
    pub fn end_output(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        self.wakers.forget(&mut conn.writer);
        if conn.has(flag::SENDING) {
            return conn.set(flag::ENDING);
        }
        if conn.has(flag::WANTS_OUTPUT) {
            conn.clear(flag::WANTS_OUTPUT);
            self.update_interest(key);
        }
        self.shut_output(key);
    }

    fn shut_output(&mut self, key: Key) {
        if let Ok(fd) = self.fd(key) {
            // Fails only if the peer has ended the connection, which leaves nothing to shut down.
            let _ = sys::shutdown(&SockRef::from(&fd), std::net::Shutdown::Write);
        }
    }

    #[cold]
    fn sent_short(&mut self, key: Key, result: i32) {
        let Some(conn) = self.conns.get(key) else { return };
        // A cancelled send that was partly done reports its bytes, not the cancellation.
        let result = if conn.has(flag::GIVEN_UP) { -libc::ECANCELED } else { result };
        match -result {
            libc::EAGAIN if matches!(self.driver, Driver::Epoll(_)) => {
                conn.set(flag::WANTS_OUTPUT);
                self.update_interest(key);
            }
            libc::EINTR | libc::EAGAIN => self.continue_send(key),
            errno if errno > 0 => {
                self.write_failed(key, errno);
                let Some(conn) = self.conns.get(key) else { return };
                conn.clear(flag::SENDING | flag::WANTS_OUTPUT);
                let source = conn.source;
                self.wakers.wake(&mut conn.writer);
                self.wakers.wake(&mut conn.reader);
                self.release_source(source);
                self.update_interest(key);
                self.close_if_quiet(key);
            }
            _ => {
                conn.send_offset += result as u16;
                conn.send_len -= result as u16;
                self.continue_send(key);
            }
        }
    }

    /// Epoll: the descriptor is writable, or at its end.
    pub(super) fn writable(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        if conn.has(flag::CONNECTING) {
            return self.connect_writable(key);
        }
        if conn.has(flag::SENDING) {
            return self.continue_send(key);
        }
        if conn.has(flag::WANTS_OUTPUT) {
            conn.clear(flag::WANTS_OUTPUT);
            self.wakers.wake(&mut conn.writer);
            self.update_interest(key);
        }
    }

    #[inline]
    pub(super) fn release_source(&mut self, source: Source) {
        match source.as_buffer() {
            Some(buffer) => self.release_buffer(buffer),
            None => self.send_buffers.release(source.as_block()),
        }
    }
}
