//! Tasks: futures that a worker polls when an event names them.
//!
//! A task is named by a [`Token`]: worker, slot and use of the slot packed in one word. Wakers *are* tokens, so cloning
//! and dropping one is free, a stale one is harmless, and no task state is ever touched from another thread.

pub(crate) mod cell;
pub(crate) mod join;
pub(crate) mod mailbox;
pub(crate) mod queue;
pub(crate) mod registry;
mod set;
pub(crate) mod waiter;
pub(crate) mod waker;

pub use join::{JoinError, JoinHandle};
pub use set::JoinSet;

use crate::slab::Key;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Index of the future given to `block_on`; no slab grows that far.
const MAIN_INDEX: u32 = 0x00ff_ffff;
/// A worker number that no worker has: marks a foreign waker in a `Waiter`.
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

    pub fn foreign(key: Key) -> Self {
        Self(u64::from(FOREIGN) << 48 | u64::from(key.generation) << 24 | u64::from(key.index))
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

/// Runs code of the user's whose panic would meet somebody it does not concern: a waker of others, the destructor of what
/// nobody wants. The panic hook has reported it.
pub(crate) fn catch_panic(f: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { return };
    // A payload's destructor may panic too, with yet another payload: that one is forgotten.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}
