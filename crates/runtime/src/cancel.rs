//! `CancellationToken`: tells tasks on all threads to end, in a tree whose branches can be cancelled separately.

use crate::sync::lock::{AtomicBool, Mutex, MutexGuard, Ordering};
use std::{
    collections::BTreeMap,
    fmt,
    future::{Future, poll_fn},
    mem::take,
    pin::pin,
    // Loom has no `Arc` with weak references.
    sync::{Arc, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

/// A flag that is set once and can be awaited on any thread. Clones are the same token; children are cancelled with it.
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

/// Both are emptied by `cancel` and stay empty, so a key that was not removed before finds nothing.
#[derive(Default)]
struct State {
    waiting: BTreeMap<u64, Waker>,
    children: BTreeMap<u64, Weak<Shared>>,
}

/// Adds an entry behind all others; returns its key, which may be used again once the entry is removed.
fn push<T>(entries: &mut BTreeMap<u64, T>, entry: T) -> u64 {
    let key = entries.last_key_value().map_or(0, |(last, _)| last + 1);
    entries.insert(key, entry);
    key
}

/// A child keeps its parent alive and is one of its `children`; the parent does not keep the child alive.
struct Parent {
    shared: Arc<Shared>,
    key: u64,
}

impl CancellationToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self { shared: Arc::new(Shared::new(false, None)) }
    }

    /// A token that is cancelled with this one, or on its own. Once dropped, it leaves nothing in its parent.
    pub fn child_token(&self) -> Self {
        let mut state = self.shared.lock();
        // Read under the lock: `cancel` takes the children under the same lock.
        if self.is_cancelled() {
            return Self { shared: Arc::new(Shared::new(true, None)) };
        }
        let shared = Arc::new_cyclic(|child: &Weak<Shared>| {
            let key = push(&mut state.children, child.clone());
            Shared::new(false, Some(Parent { shared: self.shared.clone(), key }))
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
            wakers.extend(take(&mut state.waiting).into_values());
            family.extend(take(&mut state.children).into_values().filter_map(|child| child.upgrade()));
        }
        // A panic in a foreign waker must not keep the others from being woken.
        wakers.into_iter().for_each(|waker| crate::task::catch_panic(|| waker.wake()));
    }

    /// Whether the token is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::SeqCst)
    }

    /// The output of `future`, or `None` if the token is cancelled before, when the future is dropped. A token that is cancelled
    /// already does not let it begin.
    ///
    /// ```
    /// use brunt_runtime::{CancellationToken, Runtime};
    /// use std::future::ready;
    ///
    /// Runtime::new()?.block_on(async {
    ///     let token = CancellationToken::new();
    ///     assert_eq!(token.run_until_cancelled(ready(7)).await, Some(7));
    ///     token.cancel();
    ///     assert_eq!(token.run_until_cancelled(ready(7)).await, None);
    /// });
    /// # std::io::Result::Ok(())
    /// ```
    pub async fn run_until_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        if self.is_cancelled() {
            return None;
        }
        unless(future, self.cancelled()).await
    }

    /// Waits until the token is cancelled. Cancel-safe.
    pub async fn cancelled(&self) {
        let mut waiter = Waiter { token: self, key: None };
        poll_fn(|cx| waiter.poll(cx)).await
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
        Self { cancelled: AtomicBool::new(cancelled), state: Mutex::new(State::default()), parent }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A loop instead of recursion: the chain of ancestors may be long.
        let mut parent = self.parent.take();
        while let Some(Parent { shared, key }) = parent {
            shared.lock().children.remove(&key);
            parent = Arc::into_inner(shared).and_then(|mut last| last.parent.take());
        }
    }
}

/// An entry in a token's wait queue, removed on drop.
struct Waiter<'a> {
    token: &'a CancellationToken,
    key: Option<u64>,
}

impl Waiter<'_> {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.token.shared.lock();
        // Read under the lock: `cancel` takes the wakers under the same lock.
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        let Some(waker) = self.key.and_then(|key| state.waiting.get_mut(&key)) else {
            self.key = Some(push(&mut state.waiting, cx.waker().clone()));
            return Poll::Pending;
        };
        if !waker.will_wake(cx.waker()) {
            let before = std::mem::replace(waker, cx.waker().clone());
            // The waker may be foreign, and its destructor may use this token.
            drop(state);
            drop(before);
        }
        Poll::Pending
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let waker = self.token.shared.lock().waiting.remove(&key);
            drop(waker);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::task::waker::LogWaker;
    use proptest::prelude::*;
    use std::{future::Future, pin::pin};

    #[test]
    fn a_dropped_waiter_leaves_nothing_behind() {
        let token = CancellationToken::new();
        let mut cx = Context::from_waker(Waker::noop());
        let mut kept = pin!(token.cancelled());
        for _ in 0..10_000 {
            assert!(pin!(token.cancelled()).poll(&mut cx).is_pending());
            assert!(kept.as_mut().poll(&mut cx).is_pending());
        }
        assert_eq!(token.shared.lock().waiting.len(), 1);
        token.cancel();
        assert!(kept.as_mut().poll(&mut cx).is_ready() && pin!(token.cancelled()).poll(&mut cx).is_ready());
    }

    proptest! {
        /// Waiters come, leave from the middle, and are woken by `cancel` in the order in which they came.
        #[test]
        fn cancel_wakes_the_waiters_that_are_left_in_order(ops in proptest::collection::vec((0u8..4, 0usize..64), 1..300)) {
            let (token, mut left, woken) = (CancellationToken::new(), Vec::new(), Arc::default());
            for (number, (op, pick)) in (0..).zip(ops) {
                if op < 3 || left.is_empty() {
                    let waker = Waker::from(Arc::new(LogWaker(number, Arc::clone(&woken))));
                    let mut waiter = Waiter { token: &token, key: None };
                    prop_assert!(waiter.poll(&Context::from_waker(&waker)).is_pending());
                    left.push((number, waiter));
                } else {
                    drop(left.remove(pick % left.len()));
                }
                prop_assert_eq!(token.shared.lock().waiting.len(), left.len());
            }
            token.cancel();
            prop_assert!(woken.lock().unwrap().iter().eq(left.iter().map(|(number, _)| number)));
        }
    }

    #[test]
    fn a_dropped_child_leaves_nothing_in_its_parent() {
        let parent = CancellationToken::new();
        let weak = Arc::downgrade(&parent.shared);
        let mut window = std::collections::VecDeque::new();
        for _ in 0..10_000 {
            // The first child stays while many come and go.
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
        assert!(!child.is_cancelled());
        drop(child);
        assert_eq!(weak.strong_count(), 0, "a child keeps its parent alive only while it lives");
    }

    #[test]
    fn a_chain_of_a_million_descendants_is_cancelled_and_dropped() {
        let chain = || {
            let first = CancellationToken::new();
            let last = (0..1_000_000).fold(first.clone(), |last, _| last.child_token());
            (first, last)
        };
        let (first, last) = chain();
        first.cancel();
        assert!(last.is_cancelled());
        let (first, last) = chain();
        drop(last);
        assert_eq!(first.shared.lock().children.len(), 0);
    }

    proptest! {
        /// The model: a token is cancelled exactly if it or an ancestor was, even if that ancestor has been dropped.
        #[test]
        fn cancelling_a_node_cancels_its_descendants_only(
            ops in proptest::collection::vec((0u8..5, 0usize..64), 1..200),
        ) {
            struct Node { token: Option<CancellationToken>, parent: Option<usize>, cancelled: bool }
            let mut cx = Context::from_waker(Waker::noop());
            let mut tree = vec![Node { token: Some(CancellationToken::new()), parent: None, cancelled: false }];
            for (op, pick) in ops {
                let pick = pick % tree.len();
                let Some(token) = tree[pick].token.clone() else { continue };
                match op {
                    0..3 => {
                        let cancelled = tree[pick].cancelled;
                        tree.push(Node { token: Some(token.child_token()), parent: Some(pick), cancelled });
                    }
                    3 => {
                        token.cancel();
                        tree[pick].cancelled = true;
                        // Parents come before their children.
                        for index in pick..tree.len() {
                            tree[index].cancelled |= tree[index].parent.is_some_and(|parent| tree[parent].cancelled);
                        }
                    }
                    _ => tree[pick].token = None,
                }
                for node in &tree {
                    let Some(token) = &node.token else { continue };
                    prop_assert_eq!(token.is_cancelled(), node.cancelled);
                    prop_assert_eq!(pin!(token.cancelled()).poll(&mut cx).is_ready(), node.cancelled);
                }
            }
        }
    }
}
/// The output of `future`, unless `end` comes first: then the future is dropped.
pub(crate) async fn unless<F: Future>(future: F, end: impl Future) -> Option<F::Output> {
    let (mut future, mut end) = (pin!(future), pin!(end));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => end.as_mut().poll(cx).map(|_| None),
    })
    .await
}
