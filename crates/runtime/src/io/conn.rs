//! The state of one connection: 44 bytes, without a buffer, timer or allocation of its own.

use crate::buffers::recv::{BUFFER_SIZE, LARGE_SIZE, NO_BUFFER, RecvBuffers, Segment};
use crate::{buffers::send::BLOCK_SIZE, task::waiter::Waiter};
use std::os::fd::RawFd;

/// Bits of [`Conn::flags`].
pub(crate) mod flag {
    /// A multishot receive is armed, or for long messages a poll; on epoll, the descriptor is watched for input.
    pub const RECEIVING: u16 = 1;
    /// The receive was cancelled; its last completion is on the way.
    pub const STOPPING: u16 = 1 << 1;
    /// The peer has closed its side.
    pub const EOF: u16 = 1 << 2;
    /// A send is in flight.
    pub const SENDING: u16 = 1 << 3;
    /// The stream was dropped, or the worker ends: nothing is delivered, and the slot remains until the last completion.
    pub const DROPPED: u16 = 1 << 4;
    /// The descriptor is in the epoll set.
    pub const REGISTERED: u16 = 1 << 5;
    /// The receive ended for want of a buffer and will be armed again.
    pub const NO_BUFFER: u16 = 1 << 6;
    /// A connect is in flight.
    pub const CONNECTING: u16 = 1 << 7;
    /// Epoll: a writer waits until the descriptor is writable.
    pub const WANTS_OUTPUT: u16 = 1 << 8;
    /// The send in flight was cancelled: its completion ends it, however much was sent.
    pub const GIVEN_UP: u16 = 1 << 9;
    /// Receives into large buffers, for its messages are long.
    pub const LARGE: u16 = 1 << 10;
    /// The write half was dropped: the write direction is shut down when the send in flight has ended.
    pub const ENDING: u16 = 1 << 11;
    /// The user has set SO_LINGER 0: closing discards what is unsent.
    pub const RESETS: u16 = 1 << 12;
    /// The stream was dropped with received bytes that were not read.
    pub const UNREAD: u16 = 1 << 13;
    /// The socket is to leave the worker: its receive is not armed again.
    pub const LEAVING: u16 = 1 << 14;
    /// The stream was dropped: the slot owns the descriptor.
    pub const OWNS: u16 = 1 << 15;
}

/// The memory of a send in flight: a send buffer, or a receive buffer that was lent to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Source(u32);

impl Source {
    const BUFFER: u32 = 1 << 31;

    pub fn buffer(buffer: u16) -> Self {
        Self(u32::from(buffer) | Self::BUFFER)
    }

    pub fn block(block: u32) -> Self {
        Self(block)
    }

    pub fn as_buffer(self) -> Option<u16> {
        (self.0 & Self::BUFFER != 0).then_some(self.0 as u16)
    }

    pub fn as_block(self) -> u32 {
        self.0
    }
}

/// Which memory received bytes go to: the worker's buffers, or for long messages that of the read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Direct {
    /// The worker receives into its own buffers.
    #[default]
    No,
    /// A read waits until the socket is readable.
    Waits,
    /// The socket was readable, and no read has emptied it since.
    Ready,
}

#[derive(Debug)]
pub(crate) struct Conn {
    /// Open: the stream keeps it so, and once that is dropped the slot does, which closes it.
    pub fd: RawFd,
    pub reader: Waiter,
    pub writer: Waiter,
    inbox_head: u16,
    inbox_tail: u16,
    pub inbox_len: u16,
    pub flags: u16,
    pub read_errno: u16,
    pub write_errno: u16,
    pub source: Source,
    pub send_offset: u16,
    pub send_len: u16,
    /// Short pieces in a row, received into large buffers.
    short_pieces: u8,
    pub direct: Direct,
}

/// Short pieces in a row after which a connection goes back to buffers of the usual size.
const SHORT_PIECES: u8 = 8;

const _: () = assert!(LARGE_SIZE <= u16::MAX as usize, "lengths are kept in 16 bits");
const _: () = assert!(BLOCK_SIZE <= u16::MAX as usize, "lengths are kept in 16 bits");
const _: () = assert!(size_of::<crate::slab::Slot<Conn>>() == 48, "a connection slot has grown");

impl Default for Conn {
    fn default() -> Self {
        Self::new(-1)
    }
}

impl Conn {
    pub fn new(fd: RawFd) -> Self {
        Self {
            fd,
            reader: Waiter::default(),
            writer: Waiter::default(),
            inbox_head: NO_BUFFER,
            inbox_tail: NO_BUFFER,
            inbox_len: 0,
            flags: 0,
            read_errno: 0,
            write_errno: 0,
            source: Source::default(),
            send_offset: 0,
            send_len: 0,
            short_pieces: 0,
            direct: Direct::No,
        }
    }

    #[inline]
    pub fn has(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }

    #[inline]
    pub fn set(&mut self, bits: u16) {
        self.flags |= bits;
    }

    #[inline]
    pub fn clear(&mut self, bits: u16) {
        self.flags &= !bits;
    }

    /// Counts a piece of a long message. Returns true after [`SHORT_PIECES`] in a row for which a usual buffer has room.
    pub fn count_piece(&mut self, len: usize) -> bool {
        let short = len <= BUFFER_SIZE;
        self.short_pieces = if short { (self.short_pieces + 1) % SHORT_PIECES } else { 0 };
        short && self.short_pieces == 0
    }

    #[inline]
    pub fn push_segment(&mut self, buffers: &mut RecvBuffers, buffer: u16, len: u16) {
        *buffers.segment(buffer) = Segment { next: NO_BUFFER, offset: 0, len };
        if self.inbox_tail == NO_BUFFER {
            self.inbox_head = buffer;
        } else {
            buffers.segment(self.inbox_tail).next = buffer;
        }
        self.inbox_tail = buffer;
        self.inbox_len += 1;
    }

    #[inline]
    pub fn front(&self) -> Option<u16> {
        (self.inbox_head != NO_BUFFER).then_some(self.inbox_head)
    }

    #[inline]
    pub fn pop_segment(&mut self, buffers: &mut RecvBuffers) -> Option<u16> {
        let buffer = self.front()?;
        self.inbox_head = buffers.segment(buffer).next;
        if self.inbox_head == NO_BUFFER {
            self.inbox_tail = NO_BUFFER;
        }
        self.inbox_len -= 1;
        Some(buffer)
    }

    /// The connection has failed, as reading it says: from now on writes return the error, and reads do after what was received
    /// before. The first error stays, and so does an end that came before it.
    #[cold]
    pub fn fail(&mut self, errno: u16) {
        self.fail_write(errno);
        if self.read_errno == 0 && !self.has(flag::EOF) {
            self.read_errno = errno;
        }
    }

    /// Writing has failed, for good.
    #[cold]
    pub fn fail_write(&mut self, errno: u16) {
        if self.write_errno == 0 {
            self.write_errno = errno;
        }
    }

    /// The kernel has nothing more to read and no error. EPIPE says that nothing can be written any more, and the peer may have
    /// ended its direction before; any other error of a write was one of the connection, of which the kernel tells once.
    #[cold]
    pub fn end_input(&mut self) {
        match i32::from(self.write_errno) {
            0 | libc::EPIPE => self.set(flag::EOF),
            _ if self.read_errno == 0 && !self.has(flag::EOF) => self.read_errno = self.write_errno,
            _ => (),
        }
    }

    /// Whether a clean end would hide from the peer that bytes are lost: some that were to be written to it, or some of its own
    /// (RFC 9293, 3.6.1).
    pub fn loses_bytes(&self) -> bool {
        self.has(flag::UNREAD) || ![0, libc::EPIPE].contains(&i32::from(self.write_errno))
    }

    /// Whether no request refers to this connection.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        !self.has(flag::SENDING | flag::CONNECTING) && (!self.has(flag::RECEIVING) || self.has(flag::REGISTERED))
    }
}
