//! Passing values and wake-ups between tasks, workers and threads.
//!
//! Everything here may be used from any thread and polled by any executor. Locks are held for a few instructions and
//! never while foreign code runs: wakers are woken, and values dropped, when the lock is free again.

pub mod channel;
pub(crate) mod line;
#[cfg(all(test, loom))]
mod model;
pub mod oneshot;

pub use channel::channel;
pub use oneshot::oneshot;

/// Loom puts its own locks and flags in the place of std's to try every interleaving.
pub(crate) mod lock {
    #[cfg(loom)]
    pub(crate) use loom::sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    };
    #[cfg(not(loom))]
    pub(crate) use std::sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    };
}

/// Wakes those who wait. No lock may be held; a panic in a waker of others is not ours.
fn wake(waiting: impl IntoIterator<Item = std::task::Waker>) {
    waiting.into_iter().for_each(|waker| crate::task::catch_panic(|| waker.wake()));
}
