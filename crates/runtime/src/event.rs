//! What a backend reports: the same few events from the ring and from epoll.

use crate::slab::Key;

/// One event, named by the slot it belongs to. `result` is as the kernel gives it: a count, or a negative errno.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A receive delivered `result` bytes in `buffer`, or ended; `more` says that it stays armed.
    Received {
        key: Key,
        result: i32,
        buffer: Option<u16>,
        more: bool,
    },
    /// A send took `result` bytes.
    Sent { key: Key, result: i32 },
    /// A connection was accepted as descriptor `result`; `more` says that accepting stays armed.
    Accepted { key: Key, result: i32, more: bool },
    /// A connect has ended.
    Connected { key: Key, result: i32 },
    /// The descriptor can be read, or is at its end (epoll only).
    Readable { key: Key },
    /// The descriptor can be written, or is at its end (epoll only).
    Writable { key: Key },
    /// A listener has connections to accept (epoll only).
    Acceptable { key: Key },
    /// Another thread rang.
    Rung { more: bool },
}

/// The kind of a request, beside its slot, in the 64 bits that the kernel hands back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Receive = 1,
    Send = 2,
    Accept = 3,
    Connect = 4,
    Bell = 5,
    Cancel = 6,
    Conn = 7,
}

impl Kind {
    /// kind (8) | generation (24) | index (32).
    #[inline]
    pub fn tag(self, key: Key) -> u64 {
        (self as u64) << 56 | u64::from(key.generation) << 32 | u64::from(key.index)
    }

    #[inline]
    pub fn untag(data: u64) -> (Option<Self>, Key) {
        let kind = match (data >> 56) as u8 {
            1 => Some(Self::Receive),
            2 => Some(Self::Send),
            3 => Some(Self::Accept),
            4 => Some(Self::Connect),
            5 => Some(Self::Bell),
            6 => Some(Self::Cancel),
            7 => Some(Self::Conn),
            _ => None,
        };
        (
            kind,
            Key {
                index: data as u32,
                generation: (data >> 32) as u32 & crate::slab::GENERATION_MASK,
            },
        )
    }
}
