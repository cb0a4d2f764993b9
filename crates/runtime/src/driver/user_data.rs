//! The 64 bits of user data that identify a request or a watch: kind (8) | generation (24) | index (32).

use crate::slab::{GENERATION_MASK, Key};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum OpKind {
    Receive = 1,
    Send = 2,
    /// One that owns what it refers to, as those of files do.
    Operation = 3,
    Connect = 4,
    WakeFd = 5,
    Cancel = 6,
    Conn = 7,
    WatchInput = 8,
    WatchOutput = 9,
    /// From one ring to another: ends that worker's sleep.
    Message = 10,
}

impl OpKind {
    #[inline]
    pub fn tag(self, key: Key) -> u64 {
        (self as u64) << 56 | u64::from(key.generation) << 32 | u64::from(key.index)
    }

    /// The kind and the slot of a tag; no kind for a watch (see [`untag_watch`](Self::untag_watch)) or an unknown tag.
    #[inline]
    pub fn untag(data: u64) -> (Option<Self>, Key) {
        let kind = match data >> 56 {
            1 => Some(Self::Receive),
            2 => Some(Self::Send),
            3 => Some(Self::Operation),
            4 => Some(Self::Connect),
            5 => Some(Self::WakeFd),
            6 => Some(Self::Cancel),
            7 => Some(Self::Conn),
            10 => Some(Self::Message),
            _ => None,
        };
        (kind, slot(data))
    }

    /// As `untag`, for watches only: kept apart so that the match of the frequent kinds is short.
    #[cold]
    #[inline(never)]
    pub fn untag_watch(data: u64) -> Option<(Self, Key)> {
        let kind = match data >> 56 {
            8 => Self::WatchInput,
            9 => Self::WatchOutput,
            _ => return None,
        };
        Some((kind, slot(data)))
    }
}

#[inline(always)]
fn slot(data: u64) -> Key {
    Key { index: data as u32, generation: (data >> 32) as u32 & GENERATION_MASK }
}
