//! The lock of state shared between threads, under loom or not.
//!
//! Locks are held for a few instructions, never while foreign code (a waker, a destructor) runs.

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, loom))]
pub(crate) mod parker;

/// Locks, also after a panic of a thread that held the lock.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Std's locks and flags, or loom's, which tries every interleaving.
pub(crate) mod lock {
    #[cfg(loom)]
    pub(crate) use loom::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering, fence},
    };
    #[cfg(not(loom))]
    pub(crate) use std::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering, fence},
    };
}
