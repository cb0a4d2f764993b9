//! The requests of a connection: the oldest in its slot, those behind it in its line.

use super::{NONE, NOT_SENT};
use std::collections::{VecDeque, vec_deque::Drain};

/// What a connection is at: its oldest request, if it has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub intended: u64,
    pub sent: u64,
}

impl Slot {
    pub const CLOSED: Self = Self { intended: NONE, sent: NOT_SENT };
}

/// What a connection has beside its slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// Requests behind the oldest, in their order.
    pub behind: VecDeque<Slot>,
    /// The last so many of all its requests are not sent yet.
    pub unsent: u32,
    /// How many more it may be given.
    pub room: u32,
    /// It is among those that are busy and have room.
    pub is_listed: bool,
}

impl Line {
    /// The first request that is not sent, if that is not the oldest.
    pub fn first_unsent(&mut self) -> Option<&mut Slot> {
        let at = self.behind.len().checked_sub(self.unsent as usize)?;
        self.behind.get_mut(at)
    }

    /// Takes out the requests that are not sent; the oldest is.
    pub fn take_unsent(&mut self) -> Drain<'_, Slot> {
        let first = self.behind.len().saturating_sub(self.unsent as usize);
        self.unsent = 0;
        self.behind.drain(first..)
    }
}
