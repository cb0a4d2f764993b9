//! What a worker knows of a connection: 44 bytes, no buffer, no timer, no allocation.

use crate::{
    buffers::recv::{Buffers, NO_BUFFER},
    task::waiter::Waiter,
};
use std::os::fd::RawFd;

/// What is going on with a connection, as bits.
pub(crate) mod flag {
    /// A multishot receive is armed, or the descriptor is watched for input.
    pub const RECEIVING: u16 = 1;
    /// The receive was asked to stop; its last completion is on the way.
    pub const STOPPING: u16 = 1 << 1;
    /// The peer has closed its side.
    pub const EOF: u16 = 1 << 2;
    /// A send is in flight.
    pub const SENDING: u16 = 1 << 3;
    /// The stream was dropped; the slot lives on until the kernel has let go.
    pub const DROPPED: u16 = 1 << 4;
    /// The descriptor is in the epoll set.
    pub const REGISTERED: u16 = 1 << 5;
    /// It waits for a receive buffer.
    pub const STARVED: u16 = 1 << 6;
    /// A connect is in flight.
    pub const CONNECTING: u16 = 1 << 7;
    /// A writer waits until the descriptor can be written (epoll).
    pub const WANTS_OUTPUT: u16 = 1 << 8;
    /// The send in flight was cancelled: whatever it has sent until then, it is over.
    pub const GIVEN_UP: u16 = 1 << 9;
    /// Its messages are long: it receives into large buffers.
    pub const LARGE: u16 = 1 << 10;
    /// Nobody writes any more: the write direction is shut down when the send in flight has ended.
    pub const ENDING: u16 = 1 << 11;
    /// The lowest of the bits that count short pieces received into large buffers; the highest bits of the word.
    pub const SHORT: u16 = 1 << 13;
}

/// What a send in flight points to: a send block, or a leased receive buffer.
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

#[derive(Debug)]
pub(crate) struct Conn {
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
    pub send_offset: u32,
    pub send_len: u32,
}

const _: () = assert!(crate::slab::slot_size::<Conn>() == 48, "a connection slot has grown");

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

    /// Counts a short piece in a large buffer; true for the eighth in a row.
    pub fn count_short(&mut self) -> bool {
        self.flags = self.flags.wrapping_add(flag::SHORT);
        self.flags < flag::SHORT
    }

    /// Appends a filled buffer to the inbox.
    #[inline]
    pub fn push_segment(&mut self, buffers: &mut Buffers, buffer: u16, len: u16) {
        let segment = buffers.segment(buffer);
        segment.next = NO_BUFFER;
        segment.offset = 0;
        segment.len = len;
        if self.inbox_tail == NO_BUFFER {
            self.inbox_head = buffer;
        } else {
            buffers.segment(self.inbox_tail).next = buffer;
        }
        self.inbox_tail = buffer;
        self.inbox_len += 1;
    }

    /// The oldest filled buffer.
    #[inline]
    pub fn front(&self) -> Option<u16> {
        (self.inbox_head != NO_BUFFER).then_some(self.inbox_head)
    }

    /// Takes the oldest filled buffer out of the inbox.
    #[inline]
    pub fn pop_segment(&mut self, buffers: &mut Buffers) -> Option<u16> {
        let buffer = self.front()?;
        self.inbox_head = buffers.segment(buffer).next;
        if self.inbox_head == NO_BUFFER {
            self.inbox_tail = NO_BUFFER;
        }
        self.inbox_len -= 1;
        Some(buffer)
    }

    /// Nothing of the kernel's refers to this connection any more.
    #[inline]
    pub fn is_quiet(&self) -> bool {
        !self.has(flag::SENDING | flag::CONNECTING) && (!self.has(flag::RECEIVING) || self.has(flag::REGISTERED))
    }
}
