//! Requests of the ring that own what they refer to, as those of files do: a future that is dropped leaves it to them.

use super::{Io, closed};
use crate::driver::{Driver, user_data::OpKind};
use crate::slab::{Key, Slab};
use crate::task::waiter::Waiter;
use io_uring::squeue;
use std::any::Any;
use std::os::fd::{FromRawFd, OwnedFd};
use std::task::{Context, Poll};
use std::{io, mem};

#[derive(Default)]
pub(super) struct Operation {
    waiter: Waiter,
    result: Option<i32>,
    /// What the request refers to; `None` in a free slot.
    owned: Option<Box<dyn Any>>,
    /// The future was dropped: the completion frees the slot.
    abandoned: bool,
    /// The result is a descriptor.
    opens: bool,
}

impl Operation {
    /// Ends one whose result is not taken.
    fn discard(self) {
        if let Some(fd) = self.result.filter(|fd| self.opens && *fd >= 0) {
            // SAFETY: the kernel has just opened it, and its number was given to nothing else.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }
}

impl Io {
    /// Starts a request, whose result is a descriptor if it `opens`. `None` without a ring of this machine's kernel.
    ///
    /// # Safety
    /// `entry` refers to nothing but what `owned` owns and does not move with it.
    pub unsafe fn start_operation(&mut self, entry: squeue::Entry, owned: Box<dyn Any>, opens: bool) -> Option<Key> {
        let ring = self.driver.real_ring()?;
        let key = self.operations.insert(Operation { owned: Some(owned), opens, ..Operation::default() });
        // SAFETY: the slot keeps it until the completion, or leaks it.
        unsafe { ring.operate(key, entry) };
        Some(key)
    }

    pub fn has_operations(&mut self) -> bool {
        self.driver.real_ring().is_some()
    }

    /// The result, and what the request has referred to.
    pub fn poll_operation(&mut self, key: Key, cx: &Context<'_>) -> Poll<io::Result<(i32, Box<dyn Any>)>> {
        let Some(operation) = self.operations.get(key) else { return Poll::Ready(Err(closed())) };
        let Some(result) = operation.result else {
            self.wakers.park(&mut operation.waiter, cx);
            return Poll::Pending;
        };
        let owned = self.operations.remove(key).and_then(|operation| operation.owned).expect("a live slot owns it");
        Poll::Ready(Ok((result, owned)))
    }

    /// The future is dropped: the request is cancelled, if it has not begun.
    pub fn abandon_operation(&mut self, key: Key) {
        let Some(operation) = self.operations.get(key) else { return };
        self.wakers.forget(&mut operation.waiter);
        operation.abandoned = true;
        if operation.result.is_some() {
            self.discard_operation(key);
        } else if let Driver::Uring(uring) = &mut self.driver {
            uring.cancel(OpKind::Operation, key);
        }
    }

    fn discard_operation(&mut self, key: Key) {
        if let Some(operation) = self.operations.remove(key) {
            operation.discard();
        }
    }

    #[cold]
    pub(super) fn operated(&mut self, key: Key, result: i32) {
        self.count_ended(false);
        let Some(operation) = self.operations.get(key) else { return };
        operation.result = Some(result);
        self.wakers.wake(&mut operation.waiter);
        if operation.abandoned {
            self.discard_operation(key);
        }
    }

    /// Ends all operations when the worker ends; returns true if no future was left.
    pub(super) fn abandon_operations(&mut self) -> bool {
        let mut nothing_left = true;
        for key in self.operations.keys() {
            let Some(operation) = self.operations.get(key).filter(|operation| !operation.abandoned) else { continue };
            nothing_left = false;
            // A future polled by another executor may be waiting.
            self.wakers.wake(&mut operation.waiter);
            self.abandon_operation(key);
        }
        nothing_left
    }

    /// The kernel did not end some of them in time, and may still write into what they own.
    #[cold]
    pub(super) fn leak_operations(&mut self) {
        mem::forget(mem::replace(&mut self.operations, Slab::new()));
    }
}
