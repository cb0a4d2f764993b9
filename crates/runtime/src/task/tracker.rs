//! `TaskTracker`: which tasks are to be waited for.

use super::{OnDrop, catch_panic};
use crate::JoinHandle;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Tasks that are waited for together, without their outputs: the connections of a server, say, and not what runs in the
/// background. Clones are the same tracker.
///
/// ```
/// use brunt_runtime::{CancellationToken, Runtime, TaskTracker, spawn};
/// use std::future::pending;
///
/// Runtime::new()?.block_on(async {
///     let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
///     spawn(pending::<()>());
///     for _ in 0..3 {
///         let stop = stop.clone();
///         tracker.spawn(async move { stop.cancelled().await });
///     }
///     assert_eq!(tracker.len(), 3);
///     stop.cancel();
///     tracker.wait().await;
/// });
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TaskTracker {
    tracked: Rc<Tracked>,
}

#[derive(Debug, Default)]
struct Tracked {
    tasks: Cell<usize>,
    waiting: RefCell<Vec<Waker>>,
}

impl TaskTracker {
    /// One without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Spawns a task and tracks it until it ends or is aborted.
    ///
    /// # Panics
    /// Outside `block_on`.
    #[track_caller]
    pub fn spawn<F: Future + 'static>(&self, future: F) -> JoinHandle<F::Output> {
        crate::spawn(self.track(future))
    }

    /// Tracks a future, which is spawned in another way, until it is dropped.
    pub fn track<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let tracked = self.tracked.clone();
        tracked.tasks.set(tracked.tasks.get() + 1);
        let ended = OnDrop(move || tracked.ended());
        async move {
            // Moved in: it is dropped with the future, after it.
            let _ended = ended;
            future.await
        }
    }

    /// The tasks that have not ended.
    pub fn len(&self) -> usize {
        self.tracked.tasks.get()
    }

    /// Whether all have ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until all have ended, also those that are tracked meanwhile. Cancel-safe.
    pub async fn wait(&self) {
        poll_fn(|cx| {
            if self.is_empty() {
                return Poll::Ready(());
            }
            let mut waiting = self.tracked.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}

impl Tracked {
    fn ended(&self) {
        self.tasks.set(self.tasks.get() - 1);
        if self.tasks.get() == 0 {
            let waiting = self.waiting.take();
            waiting.into_iter().for_each(|waker| catch_panic(|| waker.wake()));
        }
    }
}
