//! When a guardian freezes the jobs, as a function of the time: no clock, no input, no output.

use std::mem;
use std::time::{Duration, Instant};

/// Heartbeats older than this many periods are late.
const LATE: u32 = 3;

#[derive(Debug)]
pub(crate) struct Watch {
    late: Duration,
    /// When the group is frozen, unless a heartbeat comes before; `None` until the first one: the group is made first.
    next: Option<Instant>,
    /// It was frozen since the last heartbeat.
    has_frozen: bool,
}

impl Watch {
    pub(crate) fn new(period: Duration) -> Self {
        Self { late: period * LATE, next: None, has_frozen: false }
    }

    /// Age from which a heartbeat is late.
    pub(super) fn late(&self) -> Duration {
        self.late
    }

    /// When to look again, unless a heartbeat comes before.
    pub(crate) fn wake(&self) -> Option<Instant> {
        self.next
    }

    /// A heartbeat has come. True if it was late.
    pub(crate) fn beat(&mut self, now: Instant) -> bool {
        self.next = Some(now + self.late);
        mem::take(&mut self.has_frozen)
    }

    /// Whether the group is to be frozen now. That is repeated as long as no heartbeat comes: processes may have entered.
    pub(crate) fn is_late(&mut self, now: Instant) -> bool {
        let is_late = self.next.is_some_and(|next| now >= next);
        if is_late {
            self.next = Some(now + self.late);
        }
        is_late
    }

    /// The group was frozen. True if it is the first time since the last heartbeat.
    pub(crate) fn frozen(&mut self) -> bool {
        !mem::replace(&mut self.has_frozen, true)
    }

    /// There is no group to freeze: until the next heartbeat there is nothing to do.
    pub(super) fn has_no_group(&mut self) {
        (self.next, self.has_frozen) = (None, false);
    }
}
