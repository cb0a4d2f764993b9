//! Receiving from a stream: into buffers lent to the ring, or in a call outside it.

use super::completion::{F_MORE, F_SOCK_NONEMPTY, buffer_flags};
use super::lent::Lent;
use super::machine::State;
use super::pipe::End;
use super::socket::{self, Socket};
use crate::buffers::recv::BUFFER_SIZE;
use crate::{driver::user_data::OpKind, slab::Key};
use std::{io, slice};

impl Socket {
    /// The result of a receive with nothing to read: 0 at the end, an errno, or `None` to wait.
    fn read_end(&mut self) -> Option<i32> {
        let ended = self.inbound.end == End::Arrived;
        if ended && !self.is_unix {
            return Some(0);
        }
        if self.errno != 0 {
            return Some(std::mem::take(&mut self.errno));
        }
        if self.state != socket::State::Connected {
            return Some(libc::ENOTCONN);
        }
        (ended || self.read_shut || self.reset).then_some(0)
    }
}

impl State {
    /// Fills buffers until nothing is left; returns the result of the last completion.
    pub(super) fn receive(&mut self, socket: Key, (ring, key): (usize, Key), at: u64) -> Option<i32> {
        loop {
            let of = self.sockets.get(socket)?;
            let unread = of.inbound.unread;
            if unread == 0 {
                return of.read_end().map(|errno| -errno);
            }
            let Some((buffer, start)) = self.rings[ring].lent.take_buffer() else { return Some(-libc::ENOBUFS) };
            let whole = self.settings.check_whole_buffers;
            // SAFETY: the buffer has just been taken from those that are lent.
            if !unsafe { Lent::is_untouched(start, whole) } {
                self.report(format!("buffer {buffer} was written to while the kernel had it"));
            }
            let len = self.shortened(unread.min(BUFFER_SIZE));
            // SAFETY: the runtime has lent this buffer, of at least that size, to the kernel.
            let into = unsafe { slice::from_raw_parts_mut(start.as_ptr(), len) };
            let more = self.read_inbound(socket, into, at);
            let flags = buffer_flags(buffer) | F_MORE | if more { F_SOCK_NONEMPTY } else { 0 };
            self.post(ring, OpKind::Receive, key, len as i32, flags, at);
        }
    }

    /// A call outside the ring, which does not wait, for at most that many bytes.
    pub fn receive_now(&mut self, socket: Key, most: usize, at: u64) -> io::Result<Vec<u8>> {
        if self.random.happens(self.settings.faults.interrupted) {
            return Err(io::Error::from_raw_os_error(libc::EINTR));
        }
        let of = self.sockets.get(socket).ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))?;
        let len = of.inbound.unread.min(most);
        if len == 0 {
            return match of.read_end().unwrap_or(libc::EAGAIN) {
                0 => Ok(Vec::new()),
                errno => Err(io::Error::from_raw_os_error(errno)),
            };
        }
        let mut bytes = vec![0; self.shortened(len)];
        self.read_inbound(socket, &mut bytes, at);
        Ok(bytes)
    }

    /// How many of the bytes that are there a read returns.
    fn shortened(&mut self, len: usize) -> usize {
        let short = self.random.happens(self.settings.faults.short_read);
        if short { 1 + self.random.below(len as u64) as usize } else { len }
    }

    /// Takes unread bytes; returns whether there are more.
    fn read_inbound(&mut self, socket: Key, into: &mut [u8], at: u64) -> bool {
        let credit_at = at + self.delay_from(socket);
        let Some(of) = self.sockets.get(socket) else { return false };
        of.inbound.read(into, credit_at);
        let (more, number) = (of.inbound.unread > 0, of.number);
        if of.inbound.unsent > 0 {
            self.pump_later(socket);
        }
        self.trace.note(at, "receive", number, into.len() as i64);
        more
    }
}
