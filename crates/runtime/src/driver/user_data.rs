//! How a request or a watch is named in the 64 bits that the kernel hands back.

use crate::slab::Key;

/// The kind of a request or a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum OpKind {
    Receive = 1,
    Send = 2,
    Accept = 3,
    Connect = 4,
    WakeFd = 5,
    Cancel = 6,
    Conn = 7,
    WatchInput = 8,
    WatchOutput = 9,
    /// From one ring to another: that worker is to wake.
    Message = 10,
}

impl OpKind {
    /// kind (8) | generation (24) | index (32).
    #[inline]
    pub fn tag(self, key: Key) -> u64 {
        (self as u64) << 56 | u64::from(key.generation) << 32 | u64::from(key.index)
    }

    /// The kind and the slot of a tag; nothing for a tag that is not ours, and no kind for one of a watch.
    #[inline]
    pub fn untag(data: u64) -> (Option<Self>, Key) {
        let kind = match data >> 56 {
            1 => Some(Self::Receive),
            2 => Some(Self::Send),
            3 => Some(Self::Accept),
            4 => Some(Self::Connect),
            5 => Some(Self::WakeFd),
            6 => Some(Self::Cancel),
            7 => Some(Self::Conn),
            10 => Some(Self::Message),
            _ => None,
        };
        (kind, slot(data))
    }

    /// As `untag`, for watches alone: told apart from the others here so that those are told apart in fewer steps.
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
    Key { index: data as u32, generation: (data >> 32) as u32 & crate::slab::GENERATION_MASK }
}
