//! The workers of this thread, and the current one: the one whose `block_on` runs.

pub(crate) mod handle;
mod owned;
#[cfg(any(test, feature = "sim"))]
mod pending;
pub(crate) mod spin;
pub(crate) mod worker;

pub(crate) use owned::Owned;
pub(crate) use worker::Worker;

use crate::task::{OnDrop, context};
use crate::timer::kernel_now;
use std::cell::{Cell, RefCell};
use std::{marker::PhantomData, ptr, time::Instant};

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
    static LIVE: RefCell<Vec<*const Worker>> = const { RefCell::new(Vec::new()) };
}

/// Adds a worker to those of this thread.
///
/// # Safety
/// [`unregister`] must be called before the worker is dropped or borrowed mutably.
unsafe fn register(worker: *const Worker) {
    LIVE.with(|live| live.borrow_mut().push(worker));
}

fn unregister(worker: *const Worker) {
    // The thread may be ending, and the list gone already.
    let _ = LIVE.try_with(|live| live.borrow_mut().retain(|live| !ptr::eq(*live, worker)));
}

/// Makes a worker the current one until the guards are dropped, also by a panic.
fn enter(worker: &Worker) -> (impl Drop + use<>, impl Drop + use<>) {
    // SAFETY: the callers keep the guards in a local of a function that borrows the worker.
    let scheduler = unsafe { context::enter(&worker.scheduler) };
    let before = CURRENT.replace(worker);
    (OnDrop(move || CURRENT.set(before)), scheduler)
}

#[inline]
fn is_current(worker: &Worker) -> bool {
    ptr::eq(CURRENT.get(), worker)
}

/// In what belongs to the runtime of one thread: named by the compiler where such a thing is to be sent to another.
#[derive(Debug, Default)]
pub(crate) struct StaysOnItsThread(PhantomData<*mut ()>);

/// Calls `f` with the current worker.
///
/// # Panics
/// Outside `block_on`.
#[inline]
#[track_caller]
pub(crate) fn current<R>(f: impl FnOnce(&Worker) -> R) -> R {
    let Some(output) = try_current(f) else { panic!("this must be called inside Runtime::block_on") };
    output
}

/// The same; `None` outside `block_on`.
#[inline]
pub(crate) fn try_current<R>(f: impl FnOnce(&Worker) -> R) -> Option<R> {
    // SAFETY: `enter` sets the pointer to a worker that is borrowed until the pointer is reset.
    unsafe { CURRENT.get().as_ref() }.map(f)
}

/// The time on the clock of the current worker, else of the machine.
#[inline]
pub(crate) fn now() -> Instant {
    try_current(|worker| worker.clock.now()).unwrap_or_else(kernel_now)
}

/// Calls `f` with the worker of that number if it is alive on this thread.
#[inline(always)]
pub(crate) fn with<R>(id: u16, f: impl FnOnce(&Worker) -> R) -> Option<R> {
    // SAFETY: the reference ends with the call of `f`.
    unsafe { find(id) }.map(f)
}

/// As [`with`], where a closure would cost: the compiler does not inline it.
///
/// # Safety
/// The reference must not outlive the caller, which keeps the owner of the worker, further up the stack, from dropping it.
#[inline(always)]
pub(crate) unsafe fn find<'a>(id: u16) -> Option<&'a Worker> {
    let mut worker = CURRENT.get();
    // SAFETY: as in `current`.
    if worker.is_null() || unsafe { (*worker).scheduler.id } != id {
        worker = find_live(id)?;
    }
    // SAFETY: a worker is neither current nor live when it is dropped; see `enter` and `register`.
    Some(unsafe { &*worker })
}

#[cold]
fn find_live(id: u16) -> Option<*const Worker> {
    let live = LIVE.try_with(|live| {
        // SAFETY: `register` demands that a worker leaves the list before it is dropped.
        live.borrow().iter().copied().find(|worker| unsafe { (**worker).scheduler.id } == id)
    });
    live.ok().flatten()
}
