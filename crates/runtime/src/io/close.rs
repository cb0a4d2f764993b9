//! Closing a connection, and shutting the worker down: cancel, reap, close, then free.

use super::Io;
use crate::timer::kernel_now;
use crate::{driver::Driver, driver::user_data::OpKind, io::conn::flag, slab::Key, sys};
use socket2::{Domain, SockRef};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Timeout of a send whose stream was dropped; then the send is cancelled.
const LINGER: Duration = Duration::from_secs(5);
/// Time for which a shutdown waits for the completions of all requests; short in unit tests, where some never complete.
const REAP: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 2000 });

impl Io {
    /// The stream has SO_LINGER 0. On a Unix socket that has no effect.
    pub fn reset_on_close(&mut self, key: Key) {
        if let Some(conn) = self.conns.get(key) {
            conn.set(flag::RESETS);
        }
    }

    /// Handles a dropped stream: stops receiving, lets a send in flight finish unless closing is a reset, then closes.
    pub fn drop_conn(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        conn.set(flag::DROPPED);
        self.wakers.forget(&mut conn.reader);
        self.wakers.forget(&mut conn.writer);
        while let Some(buffer) = self.conns.get(key).and_then(|conn| conn.pop_segment(&mut self.buffers)) {
            self.release_buffer(buffer);
        }
        let Some(conn) = self.conns.get(key) else { return };
        let (sending, connecting) = (conn.has(flag::SENDING), conn.has(flag::CONNECTING));
        let discards = sending && conn.has(flag::RESETS) && self.is_tcp(key);
        // Not left to closing, which keeps a descriptor in the epoll set while it has a duplicate.
        self.stop_receive(key);
        if discards {
            // What fits into the socket has been sent, or is before the cancel in the queue.
            self.cancel_send(key);
        } else if sending {
            self.lingering.push_back((key, kernel_now() + LINGER));
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
        if let Some(conn) = self.conns.remove(key) {
            // SAFETY: the slot owned this descriptor and is gone.
            sys::close(unsafe { OwnedFd::from_raw_fd(conn.fd) });
        }
    }

    pub fn lingering_until(&self) -> Option<Instant> {
        self.lingering.front().map(|(_, until)| *until)
    }

    #[cold]
    pub(super) fn end_lingering(&mut self) {
        let now = kernel_now();
        while let Some(&(key, until)) = self.lingering.front() {
            if until > now && self.conns.get(key).is_some() {
                break;
            }
            self.lingering.pop_front();
            self.cancel_send(key);
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
                self.release_source(source);
                self.close_if_quiet(key);
            }
        }
    }

    /// Shuts down after the last task. Returns whether nothing was left: no stream, no buffer lent to the user.
    pub fn shut_down(&mut self) -> bool {
        let mut nothing_left = self.buffers.leased == 0;
        for key in self.listeners.keys() {
            nothing_left &= self.listeners.get(key).is_none_or(|listener| listener.dropped);
            self.drop_listener(key);
        }
        nothing_left &= self.drop_watches();
        for key in self.conns.keys() {
            if let Some(conn) = self.conns.get(key).filter(|conn| !conn.has(flag::DROPPED)) {
                nothing_left = false;
                // A future polled by another executor may be waiting.
                self.wakers.wake(&mut conn.reader);
                self.wakers.wake(&mut conn.writer);
                self.drop_conn(key);
            }
        }
        self.close_all();
        nothing_left
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
        // Data just written is still sent, but not waited for.
        self.turn(Some(Duration::ZERO));
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
