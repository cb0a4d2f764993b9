//! Timers of a worker: the wheel, and the clock.

pub(crate) mod wheel;

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Real time for which the kernel must be silent before a virtual clock jumps: ample for bytes between two local sockets,
/// short enough for tests with thousands of timeouts.
pub(crate) const GRACE: Duration = Duration::from_millis(1);

/// A worker's clock: the machine's, or a virtual one that jumps to the next deadline when no work is ready.
///
/// Invariant: never goes back. The kernel and other threads always live in real time.
pub(crate) struct Clock(Option<Virtual>);

struct Virtual {
    now: Cell<Instant>,
    /// The kernel's event count at the last turn.
    events: Cell<u64>,
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

    /// The time at the end of a turn, with the kernel's event count so far. A virtual clock jumps to `next`, the first deadline
    /// unless a task is ready or a wake-up pending, if the turn brought no event.
    #[inline]
    pub fn turn(&self, events: u64, next: impl FnOnce() -> Option<Instant>) -> Instant {
        let Some(clock) = &self.0 else { return Instant::now() };
        // An event that woke no task, such as the end of a send, may be followed by one that does.
        let silent = clock.events.replace(events) == events;
        if silent && let Some(next) = next() {
            clock.now.set(clock.now.get().max(next));
        }
        clock.now.get()
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
