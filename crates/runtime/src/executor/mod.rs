//! The workers of this thread, and the one whose `block_on` runs.

pub(crate) mod handle;
pub(crate) mod spin;
pub(crate) mod worker;

pub(crate) use worker::Worker;

use crate::task::{
    Token,
    registry::{self, Remote},
};
use std::{
    cell::{Cell, RefCell},
    ptr,
    sync::Arc,
    time::Instant,
};

thread_local! {
    /// The worker whose `block_on` runs on this thread.
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
    /// All workers that live on this thread.
    static LIVE: RefCell<Vec<*const Worker>> = const { RefCell::new(Vec::new()) };
}

/// Adds a worker to those of this thread.
fn register(worker: *const Worker) {
    LIVE.with(|live| live.borrow_mut().push(worker));
}

/// Removes a worker that is about to be dropped.
fn unregister(worker: *const Worker) {
    let _ = LIVE.try_with(|live| live.borrow_mut().retain(|live| !ptr::eq(*live, worker)));
}

/// Makes a worker the current one until the guard is dropped, also by a panic.
fn enter(worker: *const Worker) -> Entered {
    Entered(CURRENT.replace(worker))
}

struct Entered(*const Worker);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Calls `f` with the worker whose `block_on` runs here.
#[inline]
pub(crate) fn current<R>(f: impl FnOnce(&Worker) -> R) -> R {
    let worker = CURRENT.get();
    assert!(!worker.is_null(), "this must be called inside Runtime::block_on");
    // SAFETY: `block_on` sets the pointer to a worker that it keeps alive and resets it before it returns.
    f(unsafe { &*worker })
}

/// The time on the clock of the worker whose `block_on` runs here, or else the machine's.
#[inline]
pub(crate) fn now() -> Instant {
    with_current(|worker| worker.map_or_else(Instant::now, |worker| worker.clock.now()))
}

/// Calls `f` with that worker if it lives on this thread.
#[inline(always)]
pub(crate) fn with<R>(id: u16, f: impl FnOnce(&Worker) -> R) -> Option<R> {
    // SAFETY: the reference ends with the call of `f`.
    unsafe { find(id) }.map(f)
}

/// That worker if it lives on this thread, for those to whom a closure is too dear: the compiler keeps it a call.
///
/// # Safety
/// The worker is alive now, for its owner is further up this thread's stack or idle. The reference must not outlive the
/// caller.
#[inline(always)]
pub(crate) unsafe fn find<'a>(id: u16) -> Option<&'a Worker> {
    let mut worker = CURRENT.get();
    // SAFETY: as in `current`.
    if worker.is_null() || unsafe { (*worker).id } != id {
        worker = find_live(id)?;
    }
    // SAFETY: a worker leaves both places before it is dropped.
    Some(unsafe { &*worker })
}

#[cold]
fn find_live(id: u16) -> Option<*const Worker> {
    let live = LIVE.try_with(|live| {
        // SAFETY: a worker leaves the list before it is dropped, on this same thread.
        live.borrow().iter().copied().find(|worker| unsafe { (**worker).id } == id)
    });
    live.ok().flatten()
}

/// Calls `f` with the worker whose `block_on` runs here, if any.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Worker>) -> R) -> R {
    // SAFETY: as in `current`.
    f(unsafe { CURRENT.get().as_ref() })
}

/// Wakes a task, from any thread.
#[inline]
pub(crate) fn wake(token: Token) {
    with_current(|worker| match worker {
        Some(worker) if worker.id == token.worker() => worker.io().wakers.tasks.wake(token),
        _ => wake_elsewhere(worker, token),
    });
}

/// Wakes a task of another worker, from this one if there is one.
#[cold]
fn wake_elsewhere(from: Option<&Worker>, token: Token) {
    if let Some(sleeper) = registry::post(token) {
        wake_worker(from, sleeper);
    }
}

/// Wakes a sleeping worker: by a ring message from this thread's worker if there is one, else by its eventfd.
fn wake_worker(from: Option<&Worker>, sleeper: Arc<Remote>) {
    match from {
        Some(worker) => worker.io().ring(sleeper),
        None => sleeper.ring(),
    }
}
