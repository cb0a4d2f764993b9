//! Tasks: futures polled by one worker.
//!
//! A [`Token`] identifies a task: worker, slot and generation of the slot in one word. A waker *is* a token, so cloning and
//! dropping it is free, a stale one has no effect, and other threads never touch the state of a task.

pub(crate) mod cell;
pub(crate) mod context;
mod error;
mod join;
pub(crate) mod mailbox;
#[cfg(all(test, loom))]
mod model;
pub(crate) mod queue;
pub(crate) mod registry;
mod set;
mod tracker;
pub(crate) mod wait_list;
pub(crate) mod waiter;
pub(crate) mod waker;

pub use error::JoinError;
pub use join::{AbortHandle, JoinHandle};
pub use set::JoinSet;
pub use tracker::TaskTracker;

use crate::slab::Key;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Index of the future of `block_on`, above every index of a slab.
const MAIN_INDEX: u32 = 0x00ff_ffff;
/// In place of a worker's number: marks a foreign waker in a `Waiter`.
const FOREIGN: u16 = u16::MAX;

/// worker (16) | generation (24) | index (24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(pub u64);

impl Token {
    pub fn new(worker: u16, key: Key) -> Self {
        debug_assert!(key.index < MAIN_INDEX);
        Self(u64::from(worker) << 48 | u64::from(key.generation) << 24 | u64::from(key.index))
    }

    pub fn main(worker: u16) -> Self {
        Self(u64::from(worker) << 48 | 1 << 24 | u64::from(MAIN_INDEX))
    }

    #[inline]
    pub fn worker(self) -> u16 {
        (self.0 >> 48) as u16
    }

    #[inline]
    pub fn is_foreign(self) -> bool {
        self.worker() == FOREIGN
    }

    #[inline]
    pub fn is_main(self) -> bool {
        self.0 as u32 & 0x00ff_ffff == MAIN_INDEX
    }

    #[inline]
    pub fn key(self) -> Key {
        Key { index: self.0 as u32 & 0x00ff_ffff, generation: (self.0 >> 24) as u32 & 0x00ff_ffff }
    }
}

/// Runs user code whose panic must not propagate: a foreign waker, a destructor. The panic hook has reported the panic.
pub(crate) fn catch_panic(f: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { return };
    // The destructor of the payload may panic as well: the second payload is forgotten.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// Calls a closure when dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
