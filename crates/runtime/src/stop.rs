//! `Stop`: one thread says that it is time to end, tasks on all threads hear it.

use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Waker},
};

/// A flag that can be raised once and awaited from any thread. Clones are the same flag.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    raised: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl Stop {
    /// A flag not yet raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag and wakes everybody who waits for it.
    pub fn raise(&self) {
        self.shared.raised.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut *self.shared.wakers.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether it has been raised.
    pub fn is_raised(&self) -> bool {
        self.shared.raised.load(Ordering::SeqCst)
    }

    /// Waits until it is raised.
    pub async fn raised(&self) {
        poll_fn(|cx| {
            let mut wakers = self.shared.wakers.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            // Looked at under the lock: `raise` sets the flag before it takes the list.
            if self.is_raised() {
                return Poll::Ready(());
            }
            // A waiter polled again and again, as in a select, is kept once.
            if !wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}
