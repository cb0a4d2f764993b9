//! Direct reads: long messages are received into the memory of the read, which saves a copy. Changes of [`Direct`]:
//!
//! ```text
//! No    -> Waits  a read with room for `LEAST` bytes finds an empty inbox, and messages have been long
//! Waits -> Ready  the socket is readable; its bytes stay there
//! Ready -> Waits  a read has returned fewer bytes than it had room for
//! any   -> No     a read with less room, or `recv`, finds an empty inbox; or messages are short again
//! ```

use super::{Io, as_completion};
use crate::buffers::recv::BUFFER_SIZE;
use crate::io::conn::{Conn, Direct, flag};
use crate::{slab::Key, sys};
use std::mem::{self, MaybeUninit};
use std::task::{Context, Poll};
use std::{io, os::fd::BorrowedFd};

/// Room for bytes from which on a read is direct. With less, calls cost more than a copy.
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
        let suits = |conn: &&mut Conn| into.len() >= LEAST && conn.has(flag::LARGE);
        let Some(conn) = self.conns.get(key).filter(suits) else { return self.poll_empty(key, cx, 0) };
        let before = mem::replace(&mut conn.direct, Direct::Waits);
        if before == Direct::Ready && !conn.has(flag::EOF) && conn.read_errno == 0 {
            // SAFETY: the descriptor of a live slot is open.
            let fd = unsafe { BorrowedFd::borrow_raw(conn.fd) };
            let result = as_completion(sys::receive(fd, into));
            if result > 0 {
                let len = result as usize;
                if len == into.len() {
                    conn.direct = Direct::Ready;
                }
                if conn.count_piece(len) {
                    conn.clear(flag::LARGE);
                }
                return Poll::Ready(Ok(len));
            }
            if result != -libc::EAGAIN {
                self.receive_ended(key, result);
            }
        }
        self.wait_for_input(key, cx, 0)
    }

    /// The socket of a direct read is readable.
    #[cold]
    pub(super) fn readable_direct(&mut self, key: Key) {
        let Some(conn) = self.conns.get(key) else { return };
        match conn.direct {
            Direct::No => (),
            Direct::Waits => {
                conn.direct = Direct::Ready;
                self.wakers.wake(&mut conn.reader);
            }
            // Level-triggered epoll reports unread bytes in each turn: not watched until the next read that waits.
            Direct::Ready => self.stop_receive(key),
        }
    }
}
