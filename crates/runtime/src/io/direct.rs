//! Reading long messages from the socket into the memory of the reader, which saves a copy: changes of [`Direct`].
//!
//! ```text
//! No    -> Waits  a reader with much room finds an empty inbox, and messages have been long
//! Waits -> Ready  the socket is readable; its bytes stay there
//! Ready -> Waits  the reader has taken less than it had room for
//! any   -> No     a reader with less room, or one of `recv`, finds an empty inbox; or messages are short again
//! ```

use super::Io;
use crate::buffers::recv::BUFFER_SIZE;
use crate::{driver::Driver, io::conn::Direct, io::conn::flag, slab::Key, sys};
use std::task::{Context, Poll};
use std::{io, mem::MaybeUninit, os::fd::BorrowedFd};

/// Room from which on a reader takes long messages from the socket. With less, calls cost more than a copy.
pub(crate) const LEAST: usize = 4 * BUFFER_SIZE;

impl Io {
    /// Reads with an empty inbox.
    #[inline(never)]
    pub(super) fn poll_direct(
        &mut self,
        key: Key,
        cx: &Context<'_>,
        into: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        let scripted = self.driver.is_scripted();
        let Some(conn) = self.conns.get(key) else { return self.poll_empty(key, cx, 0) };
        if into.len() < LEAST || !conn.has(flag::LARGE) || scripted {
            return self.poll_empty(key, cx, 0);
        }
        let before = std::mem::replace(&mut conn.direct, Direct::Waits);
        if before == Direct::Ready && !conn.has(flag::EOF) && conn.read_errno == 0 {
            // SAFETY: the descriptor of a live slot is open.
            let fd = unsafe { BorrowedFd::borrow_raw(conn.fd) };
            match sys::receive(fd, into).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO)) {
                Ok(0) => self.receive_ended(key, 0),
                Ok(len) => {
                    if len == into.len() {
                        conn.direct = Direct::Ready;
                    }
                    if conn.count_piece(len < BUFFER_SIZE) {
                        conn.clear(flag::LARGE);
                    }
                    return Poll::Ready(Ok(len));
                }
                Err(libc::EAGAIN) => (),
                Err(errno) => self.receive_ended(key, -errno),
            }
        }
        self.wait_for_input(key, cx, 0)
    }

    /// The socket of a reader that takes from it itself is readable. Returns false if the worker is to receive.
    #[cold]
    pub(super) fn leave_to_reader(&mut self, key: Key) -> bool {
        let Some(conn) = self.conns.get(key) else { return true };
        match conn.direct {
            Direct::No => return false,
            Direct::Waits => {
                conn.direct = Direct::Ready;
                self.wakers.wake(&mut conn.reader);
            }
            // Reported again, as the reader has not come yet: not before it does.
            Direct::Ready => self.stop_receive(key),
        }
        true
    }

    /// A reader of much room has found bytes in the inbox: it takes the next ones from the socket.
    #[inline(never)]
    pub(super) fn turn_direct(&mut self, key: Key) {
        const ARMED: u16 = flag::RECEIVING | flag::LARGE;
        if let (Driver::Uring(_), Some(conn)) = (&self.driver, self.conns.get(key))
            && conn.flags & (ARMED | flag::STOPPING) == ARMED
            && conn.direct == Direct::No
        {
            self.stop_receive(key);
        }
    }
}
