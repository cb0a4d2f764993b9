//! The scheduler of this thread: where `spawn` puts a task and where a wake-up goes.

use super::queue::Tasks;
use super::registry::{self, Remote};
use super::{OnDrop, Token};
use std::{cell::Cell, ptr, rc::Rc, sync::Arc};

/// The part of a worker that tasks need.
pub(crate) struct Scheduler {
    pub id: u16,
    pub tasks: Rc<Tasks>,
    /// Wakes another worker, from a thread on which one runs.
    pub wake_worker: fn(Arc<Remote>),
}

thread_local! {
    /// The scheduler whose `block_on` runs on this thread.
    static CURRENT: Cell<*const Scheduler> = const { Cell::new(ptr::null()) };
}

/// Makes a scheduler the current one until the guard is dropped.
///
/// # Safety
/// The scheduler outlives the guard, and guards are dropped in reverse order.
pub(crate) unsafe fn enter(scheduler: &Scheduler) -> impl Drop + use<> {
    let before = CURRENT.replace(scheduler);
    OnDrop(move || CURRENT.set(before))
}

#[inline]
fn try_current<'a>() -> Option<&'a Scheduler> {
    // SAFETY: by `enter` the scheduler outlives the time it is current; no caller, all in `task`, keeps the reference.
    unsafe { CURRENT.get().as_ref() }
}

#[track_caller]
pub(super) fn current<'a>() -> &'a Scheduler {
    try_current().expect("this must be called inside Runtime::block_on")
}

/// Wakes a task, from any thread.
#[inline]
pub(crate) fn wake(token: Token) {
    match try_current() {
        Some(scheduler) if scheduler.id == token.worker() => scheduler.tasks.wake(token),
        _ => wake_elsewhere(token),
    }
}

#[cold]
fn wake_elsewhere(token: Token) {
    if let Some(sleeper) = registry::post(token) {
        wake_worker(sleeper);
    }
}

/// Wakes a sleeping worker: by a ring message from this thread's worker if there is one, else by its eventfd.
pub(crate) fn wake_worker(sleeper: Arc<Remote>) {
    match try_current() {
        Some(here) => (here.wake_worker)(sleeper),
        None => sleeper.wake(),
    }
}
