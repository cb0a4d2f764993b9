//! `JoinSet`: tasks joined in the order in which they end.
//!
//! A task queues its number when its future is dropped, so joining costs the same in a set of any size.

use super::{AbortHandle, JoinError, JoinHandle, OnDrop, catch_panic, context};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::task::{Context, Poll, Waker};
use std::{collections::VecDeque, fmt, pin::Pin, rc::Rc};

/// A set of tasks of this thread's runtime. Dropping it aborts the tasks that have not ended.
///
/// ```
/// use brunt_runtime::{JoinSet, Runtime, time::sleep};
/// use std::time::Duration;
///
/// let order = Runtime::new()?.block_on(async {
///     let mut set = JoinSet::new();
///     for n in [30, 10, 20] {
///         set.spawn(async move {
///             sleep(Duration::from_millis(n)).await;
///             n
///         });
///     }
///     let mut order = Vec::new();
///     while let Some(ended) = set.join_next().await {
///         order.push(ended.unwrap());
///     }
///     order
/// });
/// assert_eq!(order, [10, 20, 30]);
/// # std::io::Result::Ok(())
/// ```
pub struct JoinSet<T> {
    /// By number; `None` for a task that was joined, whose number is then in `free`.
    tasks: Vec<Option<JoinHandle<T>>>,
    free: Vec<usize>,
    ended: Rc<Ended>,
}

/// State shared by the tasks and their set.
#[derive(Default)]
struct Ended {
    /// Numbers of tasks that have ended and are not joined yet.
    numbers: RefCell<VecDeque<usize>>,
    joiner: Cell<Option<Waker>>,
}

impl<T> JoinSet<T> {
    /// An empty set.
    pub fn new() -> Self {
        Self { tasks: Vec::new(), free: Vec::new(), ended: Rc::default() }
    }

    /// Spawns a task in this set. The handle is for aborting it alone.
    ///
    /// # Panics
    /// Outside `block_on`.
    #[track_caller]
    pub fn spawn<F: Future<Output = T> + 'static>(&mut self, future: F) -> AbortHandle {
        // Looked up first: nothing of the set has changed if it panics.
        let scheduler = context::current();
        let number = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() - 1
        });
        let ended = self.ended.clone();
        let queue_number = OnDrop(move || {
            ended.numbers.borrow_mut().push_back(number);
            if let Some(joiner) = ended.joiner.take() {
                catch_panic(|| joiner.wake());
            }
        });
        let handle = scheduler.spawn(Member { future, _queue_number: queue_number });
        self.tasks[number].insert(handle).abort_handle()
    }

    /// Waits for the first task to end and returns its result; `None` if the set is empty. Cancel-safe.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As `join_next`, for hand-written futures and adapters.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        if let Some(result) = self.take_ended(cx) {
            return Poll::Ready(Some(result));
        }
        self.ended.joiner.set(Some(cx.waker().clone()));
        Poll::Pending
    }

    fn take_ended(&mut self, cx: &mut Context<'_>) -> Option<Result<T, JoinError>> {
        let number = self.ended.numbers.borrow_mut().pop_front()?;
        let handle = self.tasks[number].as_mut().expect("a task queues its number once");
        if let Poll::Ready(result) = Pin::new(handle).poll(cx) {
            self.tasks[number] = None;
            self.free.push(number);
            return Some(result);
        }
        // Its future is being dropped further up the stack, and wakes this one afterwards.
        self.ended.numbers.borrow_mut().push_front(number);
        None
    }

    /// The result of a task that has ended; `None` if all still run, or the set is empty.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.take_ended(&mut Context::from_waker(Waker::noop()))
    }

    /// Aborts every task, and waits until they have gone.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Aborts every task at its next await point. They remain to be joined, as aborted or with their output.
    pub fn abort_all(&self) {
        self.tasks.iter().flatten().for_each(JoinHandle::abort);
    }

    /// The number of tasks not joined yet.
    pub fn len(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    /// Whether every task has been joined.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

/// The future of a task in a set. Fields are dropped in order: the number is queued after the future is gone.
struct Member<F, G> {
    future: F,
    _queue_number: G,
}

impl<F: Future, G> Future for Member<F, G> {
    type Output = F::Output;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned with the whole: it is never moved out, and dropped in place.
        unsafe { self.map_unchecked_mut(|member| &mut member.future) }.poll(cx)
    }
}
