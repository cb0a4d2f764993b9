//! `CancellationToken`: one thread says that it is time to end, tasks on all threads hear it, each branch of a tree for itself.

use crate::sync::{
    lock::{AtomicBool, Mutex, MutexGuard, Ordering},
    wait_queue::{WaitKey, WaitQueue},
};
use std::{
    fmt,
    future::poll_fn,
    // A child needs its parent by a weak one, which loom's does not have.
    sync::{Arc, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

/// A flag that can be raised once and awaited from any thread. Clones are the same flag; children are raised with it.
///
/// ```
/// use brunt_runtime::CancellationToken;
///
/// let server = CancellationToken::new();
/// let (connection, other) = (server.child_token(), server.child_token());
/// connection.cancel();
/// assert!(!server.is_cancelled() && !other.is_cancelled());
/// server.cancel();
/// assert!(other.is_cancelled());
/// ```
#[derive(Clone)]
pub struct CancellationToken {
    shared: Arc<Shared>,
}

struct Shared {
    /// Written under the lock of `state`.
    cancelled: AtomicBool,
    state: Mutex<State>,
    parent: Option<Parent>,
}

struct State {
    waiting: WaitQueue<Waker>,
    children: WaitQueue<Weak<Shared>>,
}

/// A child keeps its parent alive and has a place among its children; the parent does not keep the child alive.
struct Parent {
    shared: Arc<Shared>,
    place: WaitKey,
}

impl CancellationToken {
    /// A flag not yet raised.
    pub fn new() -> Self {
        Self { shared: Arc::new(Shared::new(false, None)) }
    }

    /// A flag of its own that is raised with this one, and can be raised without it. When its last clone is dropped
    /// nothing of it is left here.
    pub fn child_token(&self) -> Self {
        let mut state = self.shared.lock();
        // Looked at under the lock: `raise` takes the children under the same.
        if self.is_cancelled() {
            return Self { shared: Arc::new(Shared::new(true, None)) };
        }
        let shared = Arc::new_cyclic(|child: &Weak<Shared>| {
            let place = state.children.push(child.clone());
            Shared::new(false, Some(Parent { shared: self.shared.clone(), place }))
        });
        Self { shared }
    }

    /// Cancels this token and all its descendants and wakes their waiters.
    pub fn cancel(&self) {
        let mut wakers = Vec::new();
        let mut family = vec![self.shared.clone()];
        while let Some(shared) = family.pop() {
            let mut state = shared.lock();
            shared.cancelled.store(true, Ordering::SeqCst);
            wakers.extend(state.waiting.take_all());
            family.extend(state.children.take_all().filter_map(|child| child.upgrade()));
        }
        // One that panics, a foreign one, must not keep the others from hearing it.
        wakers.into_iter().for_each(|waker| crate::task::catch_panic(|| waker.wake()));
    }

    /// Whether it has been raised.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until it is raised. Dropping the future leaves nothing behind.
    pub async fn cancelled(&self) {
        let mut place = Place { stop: self, ticket: None };
        poll_fn(|cx| place.poll(cx)).await
    }
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CancellationToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellationToken").field("cancelled", &self.is_cancelled()).finish()
    }
}

impl Shared {
    fn new(cancelled: bool, parent: Option<Parent>) -> Self {
        let state = State { waiting: WaitQueue::new(), children: WaitQueue::new() };
        Self { cancelled: AtomicBool::new(cancelled), state: Mutex::new(state), parent }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // One after another and not each inside its child's end: the line of ancestors may be long.
        let mut parent = self.parent.take();
        while let Some(Parent { shared, place }) = parent {
            shared.lock().children.remove(place);
            parent = Arc::into_inner(shared).and_then(|mut last| last.parent.take());
        }
    }
}

/// A waiter's entry in the wait queue, removed on drop.
struct Place<'a> {
    stop: &'a CancellationToken,
    ticket: Option<WaitKey>,
}

impl Place<'_> {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.stop.shared.lock();
        // Looked at under the lock: `raise` takes the wakers under the same.
        if self.stop.is_cancelled() {
            return Poll::Ready(());
        }
        let Some(waker) = self.ticket.and_then(|ticket| state.waiting.get(ticket)) else {
            self.ticket = Some(state.waiting.push(cx.waker().clone()));
            return Poll::Pending;
        };
        if !waker.will_wake(cx.waker()) {
            let before = std::mem::replace(waker, cx.waker().clone());
            // The waker may be foreign, and its destructor may come back here.
            drop(state);
            drop(before);
        }
        Poll::Pending
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let waker = self.stop.shared.lock().waiting.remove(ticket);
            drop(waker);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::{future::Future, pin::pin};

    #[test]
    fn who_no_longer_waits_leaves_nothing_behind() {
        let stop = CancellationToken::new();
        let mut cx = Context::from_waker(Waker::noop());
        let mut kept = pin!(stop.cancelled());
        for _ in 0..10_000 {
            assert!(pin!(stop.cancelled()).poll(&mut cx).is_pending());
            assert!(kept.as_mut().poll(&mut cx).is_pending());
        }
        assert_eq!(stop.shared.lock().waiting.len(), 1);
        stop.cancel();
        assert!(kept.as_mut().poll(&mut cx).is_ready() && pin!(stop.cancelled()).poll(&mut cx).is_ready());
    }

    #[test]
    fn a_child_that_is_gone_leaves_nothing_with_its_parent() {
        let parent = CancellationToken::new();
        let weak = Arc::downgrade(&parent.shared);
        let mut window = std::collections::VecDeque::new();
        for _ in 0..10_000 {
            // The first stays while many come and go.
            window.push_back(parent.child_token());
            if window.len() > 5 {
                window.remove(1);
            }
        }
        assert_eq!(parent.shared.lock().children.len(), 5);
        drop(window);
        assert_eq!(parent.shared.lock().children.len(), 0);
        assert_eq!((Arc::strong_count(&parent.shared), Arc::weak_count(&parent.shared)), (1, 1));
        let child = parent.child_token();
        drop(parent);
        assert!(!child.is_cancelled(), "nobody raised it");
        drop(child);
        assert_eq!(weak.strong_count(), 0, "a child kept its parent only while it lived");
    }

    #[test]
    fn a_line_of_a_million_generations_is_raised_and_dropped() {
        let first = CancellationToken::new();
        let mut last = first.clone();
        for _ in 0..1_000_000 {
            last = last.child_token();
        }
        first.cancel();
        assert!(last.is_cancelled());
        let first = CancellationToken::new();
        let mut last = first.clone();
        for _ in 0..1_000_000 {
            last = last.child_token();
        }
        drop(last);
        assert_eq!(first.shared.lock().children.len(), 0);
    }

    proptest! {
        /// Against a model that knows every parent: a flag is up exactly if it or an ancestor was cancelled, whoever of
        /// these has been dropped.
        #[test]
        fn a_tree_is_raised_from_any_node_down(ops in proptest::collection::vec((0u8..5, 0usize..64), 1..200)) {
            struct Node { stop: Option<CancellationToken>, parent: Option<usize>, cancelled: bool }
            let mut cx = Context::from_waker(Waker::noop());
            let mut tree = vec![Node { stop: Some(CancellationToken::new()), parent: None, cancelled: false }];
            for (op, pick) in ops {
                let pick = pick % tree.len();
                let Some(stop) = tree[pick].stop.clone() else { continue };
                match op {
                    0..3 => {
                        let cancelled = tree[pick].cancelled;
                        tree.push(Node { stop: Some(stop.child_token()), parent: Some(pick), cancelled });
                    }
                    3 => {
                        stop.cancel();
                        tree[pick].cancelled = true;
                        // Parents come before their children.
                        for index in pick..tree.len() {
                            tree[index].cancelled |= tree[index].parent.is_some_and(|parent| tree[parent].cancelled);
                        }
                    }
                    _ => tree[pick].stop = None,
                }
                for node in &tree {
                    let Some(stop) = &node.stop else { continue };
                    prop_assert_eq!(stop.is_cancelled(), node.cancelled);
                    prop_assert_eq!(pin!(stop.cancelled()).poll(&mut cx).is_ready(), node.cancelled);
                }
            }
        }
    }
}
