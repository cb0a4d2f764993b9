//! Requests of a connection: the oldest packed into 16 bytes, since the table of all connections is walked for timeouts, and
//! those behind it.

use std::collections::{VecDeque, vec_deque::Drain};

/// `intended` of a closed connection, or of one whose request has timed out.
const CLOSED: u64 = u64::MAX;
/// Set in `intended` of an idle connection, beside the time since which it has been.
const IDLE: u64 = 1 << 63;
/// `sent` as long as there is no sent request.
const UNSENT: u64 = u64::MAX;

/// What a [`Slot`] holds; times in nanoseconds of the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Not open, or given up after a timeout.
    Closed,
    Idle {
        since: u64,
    },
    Assigned {
        intended: u64,
    },
    InFlight {
        intended: u64,
        sent: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    intended: u64,
    sent: u64,
}

impl Slot {
    pub const CLOSED: Self = Self { intended: CLOSED, sent: UNSENT };

    #[inline]
    pub fn idle(since: u64) -> Self {
        Self { intended: IDLE | since, sent: UNSENT }
    }

    #[inline]
    pub fn assigned(intended: u64) -> Self {
        Self { intended, sent: UNSENT }
    }

    #[inline]
    pub fn in_flight(intended: u64, sent: u64) -> Self {
        Self { intended, sent }
    }

    #[inline]
    pub fn state(self) -> State {
        match self {
            Self { intended: CLOSED, .. } => State::Closed,
            Self { intended, .. } if intended >= IDLE => State::Idle { since: intended & !IDLE },
            Self { intended, sent: UNSENT } => State::Assigned { intended },
            Self { intended, sent } => State::InFlight { intended, sent },
        }
    }

    /// The assigned request goes out at `now`; returns its intended time.
    #[inline]
    pub fn send(&mut self, now: u64) -> u64 {
        self.sent = now;
        self.intended
    }

    /// Intended time and sending time, if a request is in flight.
    #[inline(always)]
    pub fn times(self) -> Option<(u64, u64)> {
        (self.sent != UNSENT).then_some((self.intended, self.sent))
    }

    #[inline]
    pub fn is_closed(self) -> bool {
        self.intended == CLOSED
    }

    #[inline]
    pub fn is_idle(self) -> bool {
        self.intended >= IDLE && self.intended != CLOSED
    }

    /// Whether there is a request, sent or not.
    #[inline]
    pub fn is_busy(self) -> bool {
        self.intended < IDLE
    }

    /// Whether a request was sent at or before `limit`.
    #[inline]
    pub fn is_sent_by(self, limit: u64) -> bool {
        self.sent <= limit
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_every_state_apart() {
        for (slot, state) in [
            (Slot::CLOSED, State::Closed),
            (Slot::idle(0), State::Idle { since: 0 }),
            (Slot::idle(7), State::Idle { since: 7 }),
            (Slot::assigned(0), State::Assigned { intended: 0 }),
            (Slot::in_flight(5, 7), State::InFlight { intended: 5, sent: 7 }),
        ] {
            assert_eq!(slot.state(), state);
            assert_eq!(slot.is_closed(), state == State::Closed);
            assert_eq!(slot.is_idle(), matches!(state, State::Idle { .. }));
            assert_eq!(slot.is_busy(), matches!(state, State::Assigned { .. } | State::InFlight { .. }));
            assert_eq!(slot.times(), (state == State::InFlight { intended: 5, sent: 7 }).then_some((5, 7)));
            assert_eq!(slot.is_sent_by(7), slot.times().is_some());
        }
        let mut slot = Slot::assigned(5);
        assert_eq!((slot.send(7), slot), (5, Slot::in_flight(5, 7)));
        assert_eq!(size_of::<Slot>(), 16);
    }
}
