//! Requests of a connection behind its oldest one.

use super::slot::Slot;
use std::collections::{VecDeque, vec_deque::Drain};

/// What a connection has beside its slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Pipeline {
    /// Requests behind the oldest, in order.
    pub queued: VecDeque<Slot>,
    /// How many of the connection's requests, counted from the last, are not sent.
    pub unsent: u32,
    pub capacity: u32,
    /// Whether the connection is in [`super::Scheduler::with_capacity`].
    pub is_listed: bool,
}

impl Pipeline {
    /// The first unsent request, unless it is the oldest.
    pub fn first_unsent(&mut self) -> Option<&mut Slot> {
        let at = self.queued.len().checked_sub(self.unsent as usize)?;
        self.queued.get_mut(at)
    }

    pub fn take_unsent(&mut self) -> Drain<'_, Slot> {
        let first = self.queued.len().saturating_sub(self.unsent as usize);
        self.unsent = 0;
        self.queued.drain(first..)
    }
}
