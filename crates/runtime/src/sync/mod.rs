//! Shared state between threads: the lock, under loom or not, and a queue of waiters.
//!
//! Locks are held for a few instructions and never while foreign code runs: wakers are called, and values dropped, after
//! the lock is released.

#[cfg(all(test, loom))]
mod model;
pub(crate) mod wait_queue;

/// Std's locks and flags, or loom's, which tries every interleaving.
pub(crate) mod lock {
    #[cfg(loom)]
    pub(crate) use loom::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    };
    #[cfg(not(loom))]
    pub(crate) use std::sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    };
}
