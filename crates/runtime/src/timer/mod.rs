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
pub(crate) struct Clock(Option<Substitute>);

enum Substitute {
    Virtual(Virtual),
    /// That of a simulated world.
    #[cfg(any(test, feature = "sim"))]
    World(std::rc::Rc<crate::sim_kernel::Machine>),
}

struct Virtual {
    now: Cell<Instant>,
    /// The kernel's event count at the last turn.
    events: Cell<u64>,
}

impl Clock {
    /// A virtual clock starts at the current time. In a simulated world, the clock is that of the world.
    pub fn new(is_virtual: bool) -> Self {
        #[cfg(any(test, feature = "sim"))]
        if let Some(machine) = crate::sim_kernel::active() {
            return Self(Some(Substitute::World(machine)));
        }
        let clock = || Virtual { now: Cell::new(Instant::now()), events: Cell::new(0) };
        Self(is_virtual.then(|| Substitute::Virtual(clock())))
    }

    /// The time of a virtual clock; `None` for another.
    pub fn virtual_now(&self) -> Option<Instant> {
        if let Some(Substitute::Virtual(clock)) = &self.0 { Some(clock.now.get()) } else { None }
    }

    #[inline]
    pub fn now(&self) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(Substitute::Virtual(clock)) => clock.now.get(),
            #[cfg(any(test, feature = "sim"))]
            Some(Substitute::World(machine)) => machine.clock.instant(),
        }
    }

    /// A task is polled, which takes time in a simulated world.
    #[cfg(any(test, feature = "sim"))]
    #[inline]
    pub fn spend_poll(&self) {
        if let Some(Substitute::World(machine)) = &self.0 {
            machine.clock.spend(machine.clock.poll.get());
        }
    }

    /// The time at the end of a turn, with the kernel's event count so far. A virtual clock jumps to `next`, the first deadline
    /// unless a task is ready or a wake-up pending, if the turn brought no event.
    #[inline]
    pub fn turn(&self, events: u64, next: impl FnOnce() -> Option<Instant>) -> Instant {
        let Some(Substitute::Virtual(clock)) = &self.0 else { return self.now() };
        // An event that woke no task, such as the end of a send, may be followed by one that does.
        let silent = clock.events.replace(events) == events;
        if silent && let Some(next) = next() {
            clock.now.set(clock.now.get().max(next));
        }
        clock.now.get()
    }

    /// Advances a virtual clock; a worker of a simulated world is busy for that time.
    ///
    /// # Panics
    /// If the clock is the machine's.
    pub fn set(&self, to: Instant) {
        match &self.0 {
            None => panic!("time::advance needs a runtime built with virtual_clock(true)"),
            Some(Substitute::Virtual(clock)) => clock.now.set(clock.now.get().max(to)),
            #[cfg(any(test, feature = "sim"))]
            Some(Substitute::World(machine)) => machine.clock.busy_until(to),
        }
    }
}

/// The time in which the kernel lives: the machine's, also under a virtual clock, or that of the active simulated world.
#[inline]
pub(crate) fn kernel_now() -> Instant {
    #[cfg(any(test, feature = "sim"))]
    if let Some(now) = crate::sim_kernel::now() {
        return now;
    }
    Instant::now()
}
