//! The machine of the world that is active on this thread.

use super::clock::nanos;
use super::machine::Machine;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

thread_local! {
    static ACTIVE: RefCell<Option<Rc<Machine>>> = const { RefCell::new(None) };
}

/// # Panics
/// If a world is active on this thread.
pub(crate) fn activate(machine: Rc<Machine>) {
    let before = ACTIVE.replace(Some(machine));
    assert!(before.is_none(), "a world is active on this thread already");
}

pub(crate) fn deactivate() {
    // The thread may be ending.
    let _ = ACTIVE.try_with(|active| active.take());
}

/// The machine of the world that is active on this thread.
pub(crate) fn active() -> Option<Rc<Machine>> {
    ACTIVE.try_with(|active| active.borrow().clone()).ok().flatten()
}

/// Whether a world is active on this thread.
pub fn is_active() -> bool {
    active().is_some()
}

/// The worker that calls this works for `time`. Nothing without an active world.
pub fn spend(time: Duration) {
    active().into_iter().for_each(|machine| machine.clock.spend(nanos(time)));
}

/// Time since the start of the active world.
pub(crate) fn elapsed() -> Option<Duration> {
    active().map(|machine| Duration::from_nanos(machine.clock.elapsed()))
}

/// The time of the active world.
pub(crate) fn now() -> Option<Instant> {
    active().map(|machine| machine.clock.instant())
}
