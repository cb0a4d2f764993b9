//! Opening connections.

use super::{Io, closed, from_errno};
use crate::io::conn::{Conn, flag};
use crate::{driver::Driver, slab::Key};
use socket2::SockAddr;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::task::{Context, Poll};

impl Io {
    /// Starts connecting a new non-blocking socket.
    pub fn start_connect(&mut self, raw: RawFd, address: SockAddr) -> Key {
        let key = self.conns.insert(Conn::new(raw));
        let conn = self.conns.get(key).expect("just inserted");
        conn.set(flag::CONNECTING);
        if let Driver::Uring(uring) = &mut self.driver {
            // The kernel reads the address when the request is submitted, which may be a turn later.
            let address = Box::new(address);
            // SAFETY: the box is kept in `addresses` until the connect has completed, so its contents do not move.
            unsafe { uring.connect(key, raw, &address) };
            self.addresses.push((key, address));
            return key;
        }
        // SAFETY: the descriptor of a live slot is open.
        let fd = unsafe { BorrowedFd::borrow_raw(raw) };
        match socket2::SockRef::from(&fd).connect(&address) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => self.update_interest(key),
            result => self.connected(key, result.err().map_or(0, |error| -error.raw_os_error().unwrap_or(libc::EIO))),
        }
        key
    }

    pub fn poll_connected(&mut self, key: Key, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let Some(conn) = self.conns.get(key) else { return Poll::Ready(Err(closed())) };
        if conn.has(flag::CONNECTING) {
            self.wakers.park(&mut conn.writer, cx);
            return Poll::Pending;
        }
        match conn.write_errno {
            0 => Poll::Ready(Ok(())),
            errno => Poll::Ready(Err(from_errno(errno))),
        }
    }

    /// Epoll: reads the result of an ended connect from the socket.
    pub(super) fn connect_writable(&mut self, key: Key) {
        let Ok(fd) = self.fd(key) else { return };
        let result = match socket2::SockRef::from(&fd).take_error() {
            Ok(None) => 0,
            Ok(Some(error)) | Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
        };
        self.connected(key, result);
        self.update_interest(key);
    }

    pub(super) fn connected(&mut self, key: Key, result: i32) {
        if matches!(self.driver, Driver::Uring(_)) {
            self.addresses.retain(|(of, _)| *of != key);
        }
        let Some(conn) = self.conns.get(key) else { return };
        conn.clear(flag::CONNECTING);
        if result < 0 {
            (conn.read_errno, conn.write_errno) = (-result as u16, -result as u16);
        }
        self.wakers.wake(&mut conn.writer);
        self.close_if_quiet(key);
    }
}
