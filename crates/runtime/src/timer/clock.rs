//! A worker's clock: the machine's, or a virtual one that jumps to the next deadline when no work is ready.
//!
//! Invariant: never goes back. The kernel and other threads always live in real time.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Real time for which the kernel must be silent before a virtual clock jumps: ample for bytes between two local sockets,
/// short enough for tests with thousands of timeouts.
pub(crate) const GRACE: Duration = Duration::from_millis(1);

/// The machine's clock, unless it is virtual.
pub(crate) struct Clock(Option<Virtual>);

struct Virtual {
    now: Cell<Instant>,
    /// The kernel's event count at the last turn.
    events: Cell<u64>,
}

pub(crate) struct TurnOutcome {
    /// No task is ready and no wake-up is pending.
    pub idle: bool,
    pub events: u64,
    pub next: Option<Instant>,
}

impl Clock {
    /// A virtual clock starts at the current time.
    pub fn new(is_virtual: bool) -> Self {
        Self(is_virtual.then(|| Virtual { now: Cell::new(Instant::now()), events: Cell::new(0) }))
    }

    /// The virtual time; `None` for the machine's clock.
    pub fn virtual_now(&self) -> Option<Instant> {
        self.0.as_ref().map(|clock| clock.now.get())
    }

    #[inline]
    pub fn now(&self) -> Instant {
        self.virtual_now().unwrap_or_else(Instant::now)
    }

    /// The time at the end of a turn; jumps if the turn found nothing to do.
    #[inline]
    pub fn turn(&self, outcome: impl FnOnce() -> TurnOutcome) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(clock) => clock.turn(outcome()),
        }
    }

    /// Advances a virtual clock.
    ///
    /// # Panics
    /// If the clock is the machine's.
    pub fn set(&self, to: Instant) {
        let Some(clock) = &self.0 else { panic!("time::advance needs a runtime built with virtual_clock(true)") };
        clock.now.set(clock.now.get().max(to));
    }
}

impl Virtual {
    fn turn(&self, outcome: TurnOutcome) -> Instant {
        // An event that woke no task, such as the end of a send, may be followed by one that does.
        let silent = self.events.replace(outcome.events) == outcome.events;
        if outcome.idle
            && silent
            && let Some(next) = outcome.next
        {
            self.now.set(self.now.get().max(next));
        }
        self.now.get()
    }
}
