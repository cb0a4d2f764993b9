//! `Stop`: one thread says that it is time to end, tasks on all threads hear it.

use crate::slab::{Key, Slab};
use std::{
    fmt,
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

/// A flag that can be raised once and awaited from any thread. Clones are the same flag.
#[derive(Clone, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

struct Shared {
    raised: AtomicBool,
    waiting: Mutex<Slab<Option<Waker>>>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { raised: AtomicBool::new(false), waiting: Mutex::new(Slab::new()) }
    }
}

impl Stop {
    /// A flag not yet raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag and wakes everybody who waits for it.
    pub fn raise(&self) {
        self.shared.raised.store(true, Ordering::SeqCst);
        let mut waiting = self.waiting();
        let wakers: Vec<_> = waiting.keys().into_iter().filter_map(|key| waiting.get(key)?.take()).collect();
        drop(waiting);
        // One that panics, a foreign one, must not keep the others from hearing it.
        wakers.into_iter().for_each(|waker| crate::task::quietly(|| waker.wake()));
    }

    /// Whether it has been raised.
    pub fn is_raised(&self) -> bool {
        self.shared.raised.load(Ordering::SeqCst)
    }

    /// Waits until it is raised. Dropping the future leaves nothing behind.
    pub async fn raised(&self) {
        let mut place = Place { stop: self, key: None };
        poll_fn(|cx| place.poll(cx)).await
    }

    fn waiting(&self) -> MutexGuard<'_, Slab<Option<Waker>>> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("raised", &self.is_raised()).finish()
    }
}

/// A waiter's place among those who wait; given up when it is dropped.
struct Place<'a> {
    stop: &'a Stop,
    key: Option<Key>,
}

impl Place<'_> {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let mut waiting = self.stop.waiting();
        // Looked at under the lock: `raise` sets the flag before it takes the list.
        if self.stop.is_raised() {
            return Poll::Ready(());
        }
        let key = *self.key.get_or_insert_with(|| waiting.insert(None));
        let slot = waiting.get(key).expect("a place is kept until it is dropped");
        if slot.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            let before = slot.replace(cx.waker().clone());
            // The waker may be foreign, and its destructor may come back here.
            drop(waiting);
            drop(before);
        }
        Poll::Pending
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.stop.waiting().remove(key);
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[test]
    fn who_no_longer_waits_leaves_nothing_behind() {
        let stop = Stop::new();
        let mut cx = Context::from_waker(Waker::noop());
        let mut kept = pin!(stop.raised());
        for _ in 0..10_000 {
            assert!(pin!(stop.raised()).poll(&mut cx).is_pending());
            assert!(kept.as_mut().poll(&mut cx).is_pending());
        }
        assert_eq!(stop.waiting().len(), 1);
        stop.raise();
        assert!(kept.as_mut().poll(&mut cx).is_ready() && pin!(stop.raised()).poll(&mut cx).is_ready());
    }
}
