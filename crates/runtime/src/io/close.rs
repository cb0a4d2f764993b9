//! The end of a connection and of the worker: cancel, reap, close, and only then free.

use super::Io;
use crate::{
    driver::Driver,
    driver::user_data::Kind,
    io::conn::{Source, flag},
    slab::Key,
};
use std::{
    os::fd::{FromRawFd, OwnedFd},
    time::{Duration, Instant},
};

/// How long a send of a dropped stream may still take before it is cancelled: the peer does not read.
const LINGER: Duration = Duration::from_secs(5);
/// How long shutting down waits for the kernel to give back what it holds; unit tests have one that never does.
const REAP: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 2000 });

pub(super) struct Lingering {
    key: Key,
    pub(super) until: Instant,
}

impl Io {
    /// The stream was dropped: stop receiving, let a send in flight finish, then close.
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
        // Closing takes a descriptor out of epoll's set by itself.
        if sending || matches!(self.driver, Driver::Uring(_)) {
            self.stop_receive(key);
        }
        if sending {
            self.lingering.push_back(Lingering { key, until: Instant::now() + LINGER });
        }
        if connecting {
            match &mut self.driver {
                Driver::Uring(uring) => uring.cancel(Kind::Connect, key),
                Driver::Epoll(_) => self.connected(key, -libc::ECANCELED),
            }
        }
        self.close_if_quiet(key);
    }

    /// Closes a dropped connection once the kernel has let go of it.
    pub(super) fn close_if_quiet(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        if conn.has(flag::DROPPED) && conn.is_quiet() {
            let fd = conn.fd;
            self.conns.remove(key);
            // SAFETY: the slot owned this descriptor and is gone; dropping it closes it.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }

    /// When the oldest lingering send runs out of time.
    pub fn lingering_until(&self) -> Option<Instant> {
        self.lingering.front().map(|lingering| lingering.until)
    }

    #[cold]
    pub(super) fn end_lingering(&mut self) {
        let now = Instant::now();
        while let Some(Lingering { key, until }) = self.lingering.front() {
            let key = *key;
            if *until > now && self.conns.get(key).is_some() {
                break;
            }
            self.lingering.pop_front();
            self.cancel_send(key);
        }
    }

    fn cancel_send(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key).filter(|conn| conn.has(flag::SENDING)) else {
            return;
        };
        match &mut self.driver {
            Driver::Uring(uring) => {
                conn.set(flag::GIVEN_UP);
                uring.cancel(Kind::Send, key);
            }
            Driver::Epoll(_) => {
                let source: Source = conn.source;
                conn.clear(flag::SENDING);
                match source.as_buffer() {
                    Some(buffer) => self.release_buffer(buffer),
                    None => self.blocks.give_back(source.as_block()),
                }
                self.close_if_quiet(key);
            }
        }
    }

    /// Shuts everything down: no task is left, so no stream is either, save those that somebody else holds. True when
    /// there was none of these, nor a lease.
    pub fn shut_down(&mut self) -> bool {
        let mut nothing_left = self.buffers.leased == 0;
        for key in self.listeners.keys() {
            nothing_left &= !self.listener_is_held(key);
            self.drop_listener(key);
        }
        nothing_left &= self.drop_watches();
        for key in self.conns.keys() {
            if let Some(conn) = self.conns.get(key).filter(|conn| !conn.has(flag::DROPPED)) {
                nothing_left = false;
                // Whoever waits is told, perhaps a future that another executor polls.
                self.wakers.wake(&mut conn.reader);
                self.wakers.wake(&mut conn.writer);
                self.drop_conn(key);
            }
        }
        self.close_all();
        nothing_left
    }

    /// Ends what the kernel still does for dropped streams, and closes them.
    fn close_all(&mut self) {
        let Driver::Uring(_) = &self.driver else {
            for key in self.conns.keys() {
                self.cancel_send(key);
                self.close_if_quiet(key);
            }
            return;
        };
        // What was written moments ago still goes out; a peer that does not read is not waited for.
        self.turn(Some(Duration::ZERO));
        for key in self.conns.keys() {
            self.cancel_send(key);
        }
        let deadline = Instant::now() + REAP;
        while self.in_flight() > 0 && Instant::now() < deadline {
            self.turn(Some(Duration::from_millis(10)));
        }
        if self.in_flight() > 0 {
            // The kernel still holds requests that point into our buffers: leak them rather than free them under it.
            self.buffers.leased += 1;
            self.blocks.leak();
        }
        for key in self.conns.keys() {
            if let Some(conn) = self.conns.remove(key) {
                // SAFETY: the slot owned this descriptor and is gone.
                drop(unsafe { OwnedFd::from_raw_fd(conn.fd) });
            }
        }
    }

    fn in_flight(&self) -> u32 {
        match &self.driver {
            Driver::Uring(uring) => uring.in_flight(),
            Driver::Epoll(_) => 0,
        }
    }
}
