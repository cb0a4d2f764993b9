//! What time it is for a worker: the machine's time, or for tests one that stands still while there is something to do
//! and jumps to the next deadline when there is not.
//!
//! Must never go back. The kernel and other threads live in real time whatever this clock shows.

use crate::executor::Worker;
use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// How long, in real time, a virtual clock waits for the kernel before it jumps: ample for the way from one socket of this
/// machine to another, short enough for tests with thousands of timeouts.
pub(crate) const GRACE: Duration = Duration::from_millis(1);

pub(crate) enum Clock {
    Real,
    Virtual(Virtual),
}

pub(crate) struct Virtual {
    now: Cell<Instant>,
    /// Events the kernel had reported when the clock was last looked at.
    events: Cell<u64>,
}

/// What a turn found.
pub(crate) struct TurnOutcome {
    /// Nobody is ready, and nothing tells that somebody soon will be.
    pub idle: bool,
    /// Events the kernel has reported in all.
    pub events: u64,
    /// When a timer fires next.
    pub next: Option<Instant>,
}

impl Clock {
    /// A virtual clock begins at the present time.
    pub fn new(is_virtual: bool) -> Self {
        if is_virtual {
            Self::Virtual(Virtual { now: Cell::new(Instant::now()), events: Cell::new(0) })
        } else {
            Self::Real
        }
    }

    /// The time, if it stands still.
    pub fn virtual_now(&self) -> Option<Instant> {
        match self {
            Self::Real => None,
            Self::Virtual(clock) => Some(clock.now.get()),
        }
    }

    #[inline]
    pub fn now(&self) -> Instant {
        match self {
            Self::Real => Instant::now(),
            Self::Virtual(clock) => clock.now.get(),
        }
    }

    /// The time at the end of a turn.
    #[inline]
    pub fn turn(&self, found: impl FnOnce() -> TurnOutcome) -> Instant {
        match self {
            Self::Real => Instant::now(),
            Self::Virtual(clock) => clock.turn(found()),
        }
    }

    /// Moves a virtual clock on.
    pub fn set(&self, to: Instant) {
        let Self::Virtual(clock) = self else {
            panic!("time::advance needs a runtime built with virtual_clock(true): this one's clock is the machine's")
        };
        clock.now.set(clock.now.get().max(to));
    }
}

impl Virtual {
    fn turn(&self, found: TurnOutcome) -> Instant {
        // An event that woke nobody, such as the end of a send, may well be followed by one that does.
        let silent = self.events.replace(found.events) == found.events;
        if found.idle
            && silent
            && let Some(next) = found.next
        {
            self.now.set(self.now.get().max(next));
        }
        self.now.get()
    }
}

impl Worker {
    /// See [`crate::turn_time`].
    #[inline]
    pub fn turn_time(&self) -> Instant {
        self.turn_time.get().unwrap_or_else(|| {
            let now = self.clock.now();
            self.turn_time.set(Some(now));
            now
        })
    }
}
