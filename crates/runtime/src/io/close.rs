//! Closing a connection, and shutting the worker down: cancel, reap, close, then free.

use super::{Io, closed};
use crate::io::conn::{Conn, flag};
use crate::timer::kernel_now;
use crate::{driver::Driver, driver::user_data::OpKind, slab::Key, sys};
use socket2::{Domain, SockRef};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// The time in which the peer of a dropped stream has to take some of what was written, unless [`Builder::close_timeout`] says
/// otherwise.
///
/// [`Builder::close_timeout`]: crate::Builder::close_timeout
pub(crate) const LINGER: Duration = Duration::from_secs(5);
/// Time for which a shutdown waits for the completions of all requests; short in unit tests, where some never complete.
const REAP: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 2000 });

/// A dropped connection whose send is in flight.
pub(super) struct Lingering {
    key: Key,
    /// When the send is cancelled, unless the peer has taken some meanwhile.
    pub until: Instant,
    /// Bytes that the peer had not taken at the end of the turn in which this began; `None` until then, when most have been sent.
    pub left: Option<usize>,
}

impl Io {
    /// For dropped streams, and for the end of the worker.
    pub fn set_timeouts(&mut self, linger: Duration, end: Duration) {
        (self.linger, self.end_timeout) = (linger, end);
    }

    /// The stream has SO_LINGER 0. On a Unix socket that has no effect.
    pub fn reset_on_close(&mut self, key: Key) {
        if let Some(conn) = self.conns.get(key) {
            conn.set(flag::RESETS);
        }
    }

    /// Handles a dropped stream: stops receiving, lets a send in flight finish unless closing is a reset, then closes.
    pub fn drop_conn(&mut self, key: Key, fd: OwnedFd) {
        let Some(conn) = self.conns.get(key) else { return sys::close(fd) };
        (conn.fd, conn.flags) = (fd.into_raw_fd(), conn.flags | flag::OWNS);
        self.let_go(key);
    }

    /// Ends what a connection waits for and receives; it goes as soon as it is quiet.
    fn let_go(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        conn.set(flag::DROPPED);
        self.wakers.forget(&mut conn.reader);
        self.wakers.forget(&mut conn.writer);
        if conn.front().is_some() {
            conn.set(flag::UNREAD);
        }
        self.take_inbox(key, |_| ());
        let Some(conn) = self.conns.get(key) else { return };
        let (sending, connecting) = (conn.has(flag::SENDING), conn.has(flag::CONNECTING));
        let discards = sending && conn.has(flag::RESETS) && self.is_tcp(key);
        // Not left to closing, which keeps a descriptor in the epoll set while it has a duplicate.
        self.stop_receive(key);
        if discards {
            // What fits into the socket has been sent, or is before the cancel in the queue.
            self.cancel_send(key);
        } else if sending {
            self.linger_on(key, kernel_now());
        }
        if connecting {
            match &mut self.driver {
                Driver::Uring(uring) => uring.cancel(OpKind::Connect, key),
                Driver::Epoll(_) => self.connected(key, -libc::ECANCELED),
            }
        }
        self.close_if_quiet(key);
    }

    fn is_tcp(&mut self, key: Key) -> bool {
        self.fd(key).is_ok_and(|fd| SockRef::from(&fd).domain().is_ok_and(|domain| domain != Domain::UNIX))
    }

    /// Closes a dropped connection once no request refers to it.
    pub(super) fn close_if_quiet(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        if conn.has(flag::DROPPED) && conn.is_quiet() {
            self.close(key);
        }
    }

    fn close(&mut self, key: Key) {
        let Some(conn) = self.take_out(key) else { return };
        if conn.loses_bytes() {
            // SAFETY: the descriptor of a slot is open.
            let fd = unsafe { BorrowedFd::borrow_raw(conn.fd) };
            // A reset; Unix sockets have none. Fails if the connection is gone already.
            let _ = SockRef::from(&fd).set_linger(Some(Duration::ZERO));
        }
        if conn.has(flag::OWNS) {
            // SAFETY: the slot of a dropped stream owned the descriptor, and is gone.
            sys::close(unsafe { OwnedFd::from_raw_fd(conn.fd) });
        }
    }

    /// Removes a connection that no request refers to. Its descriptor may stay open, so the epoll set has it no longer.
    fn take_out(&mut self, key: Key) -> Option<Conn> {
        let conn = self.conns.remove(key)?;
        if let Driver::Epoll(epoll) = &mut self.driver
            && conn.has(flag::REGISTERED)
        {
            // SAFETY: the descriptor of a slot is open.
            epoll.forget(unsafe { BorrowedFd::borrow_raw(conn.fd) });
        }
        Some(conn)
    }

    pub fn lingering_until(&self) -> Option<Instant> {
        self.lingering.front().map(|send| send.until)
    }

    fn linger_on(&mut self, key: Key, now: Instant) {
        self.lingering.push_back(Lingering { key, until: now + self.linger, left: None });
    }

    /// Bytes written that the peer has not taken: those of the send in flight, and what the kernel holds.
    fn not_taken(&mut self, key: Key) -> usize {
        let Some(conn) = self.conns.get(key).filter(|conn| conn.has(flag::SENDING)) else { return 0 };
        let sending = usize::from(conn.send_len);
        sending + self.fd(key).map_or(0, sys::unsent)
    }

    #[cold]
    pub(super) fn end_lingering(&mut self) {
        let now = kernel_now();
        let fresh = self.lingering.iter().rev().take_while(|send| send.left.is_none()).count();
        for nth in self.lingering.len() - fresh..self.lingering.len() {
            self.lingering[nth].left = Some(self.not_taken(self.lingering[nth].key));
        }
        while let Some(&Lingering { key, until, left }) = self.lingering.front() {
            if until > now && self.conns.get(key).is_some_and(|conn| conn.has(flag::SENDING)) {
                break;
            }
            self.lingering.pop_front();
            if until <= now && Some(self.not_taken(key)) < left && !self.linger.is_zero() {
                self.linger_on(key, now);
            } else {
                self.cancel_send(key);
            }
        }
    }

    fn cancel_send(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key).filter(|conn| conn.has(flag::SENDING)) else { return };
        match &mut self.driver {
            Driver::Uring(uring) => {
                conn.set(flag::GIVEN_UP);
                uring.cancel(OpKind::Send, key);
            }
            Driver::Epoll(_) => {
                let source = conn.source;
                conn.clear(flag::SENDING);
                conn.fail_write(libc::ECANCELED as u16);
                self.release_source(source);
                self.close_if_quiet(key);
            }
        }
    }

    /// Takes a connection out of the worker once everything written was sent; returns what was received and not read.
    pub fn poll_release(&mut self, key: Key, cx: &Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        ready!(self.poll_flush(key, cx))?;
        let Some(conn) = self.conns.get(key) else { return Poll::Ready(Err(closed())) };
        conn.set(flag::LEAVING);
        self.stop_receive(key);
        let Some(conn) = self.conns.get(key).filter(|conn| !conn.is_quiet()) else {
            let mut unread = Vec::new();
            self.take_inbox(key, |bytes| unread.extend_from_slice(bytes));
            self.take_out(key);
            return Poll::Ready(Ok(unread));
        };
        self.wakers.park(&mut conn.writer, cx);
        Poll::Pending
    }

    /// Shuts down after the last task. Returns whether nothing was left: no stream, no buffer lent to the user.
    pub fn shut_down(&mut self) -> bool {
        let mut nothing_left = self.buffers.leased == 0;
        nothing_left &= self.drop_watches();
        nothing_left &= self.abandon_operations();
        for key in self.conns.keys() {
            if let Some(conn) = self.conns.get(key).filter(|conn| !conn.has(flag::DROPPED)) {
                nothing_left = false;
                // A future polled by another executor may be waiting.
                self.wakers.wake(&mut conn.reader);
                self.wakers.wake(&mut conn.writer);
                self.let_go(key);
            }
        }
        self.send_rest();
        self.close_all();
        nothing_left
    }

    /// Goes on sending what was written.
    fn send_rest(&mut self) {
        self.turn(Some(Duration::ZERO));
        let end = kernel_now() + self.end_timeout;
        while let Some(left) = end.checked_duration_since(kernel_now()).filter(|left| !left.is_zero())
            && self.is_sending_rest()
        {
            self.turn(Some(left));
        }
    }

    fn is_sending_rest(&mut self) -> bool {
        let conns = &mut self.conns;
        self.lingering.iter().any(|send| conns.get(send.key).is_some_and(|conn| conn.has(flag::SENDING)))
    }

    /// Cancels and reaps the requests of dropped streams, and closes them.
    fn close_all(&mut self) {
        let Driver::Uring(_) = &self.driver else {
            for key in self.conns.keys() {
                self.cancel_send(key);
                self.close_if_quiet(key);
            }
            return self.free_memory_on_drop();
        };
        for key in self.conns.keys() {
            self.cancel_send(key);
        }
        let deadline = kernel_now() + REAP;
        while self.in_flight() > 0 && kernel_now() < deadline {
            self.turn(Some(Duration::from_millis(10)));
        }
        // Otherwise the kernel still holds requests that refer to the memory, which is then leaked.
        if self.in_flight() == 0 {
            self.free_memory_on_drop();
        } else {
            self.leak_operations();
        }
        self.conns.keys().into_iter().for_each(|key| self.close(key));
    }

    /// No request is in flight and none will be submitted: the memory may be unmapped on drop.
    pub(super) fn free_memory_on_drop(&mut self) {
        debug_assert_eq!(self.in_flight(), 0);
        // SAFETY: as asserted. On epoll the kernel refers to no memory between two calls.
        unsafe {
            self.buffers.free_on_drop();
            self.send_buffers.free_on_drop();
        }
    }

    fn in_flight(&self) -> u32 {
        if let Driver::Uring(uring) = &self.driver { uring.in_flight() } else { 0 }
    }
}
