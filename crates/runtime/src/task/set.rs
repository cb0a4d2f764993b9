//! `JoinSet`: many tasks, taken in the order in which they end.
//!
//! Each task leaves its number when its future is dropped, and that is all the set looks at: an end costs the same with
//! ten tasks and with a million.

use super::{JoinError, JoinHandle, catch_panic};
use crate::executor;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

/// Tasks of this thread's runtime that belong together. Dropping the set aborts those that have not ended.
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
    /// By number; `None` where a task was joined, and that number is in `free`.
    tasks: Vec<Option<JoinHandle<T>>>,
    free: Vec<usize>,
    ended: Rc<Ended>,
}

/// What tasks and their set share.
#[derive(Default)]
struct Ended {
    /// Numbers of tasks that have ended and were not joined yet.
    numbers: RefCell<VecDeque<usize>>,
    joiner: Cell<Option<Waker>>,
}

impl<T> JoinSet<T> {
    /// An empty set.
    pub fn new() -> Self {
        Self { tasks: Vec::new(), free: Vec::new(), ended: Rc::default() }
    }

    /// Starts a task in this set. Must be called inside `block_on`.
    pub fn spawn<F: Future<Output = T> + 'static>(&mut self, future: F) {
        executor::current(|worker| {
            let number = self.free.pop().unwrap_or_else(|| {
                self.tasks.push(None);
                self.tasks.len() - 1
            });
            let mark = Mark { ended: self.ended.clone(), number };
            self.tasks[number] = Some(worker.spawn(Member { future, _mark: mark }));
        });
    }

    /// The task that has ended first of those not joined yet, waited for if need be; `None` when the set is empty. A
    /// dropped future has joined nothing.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As `join_next`, for hand-written futures and adapters.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let number = self.ended.numbers.borrow_mut().pop_front();
        if let Some(number) = number {
            let handle = self.tasks[number].as_mut().expect("a task leaves its number once");
            if let Poll::Ready(result) = Pin::new(handle).poll(cx) {
                self.tasks[number] = None;
                self.free.push(number);
                return Poll::Ready(Some(result));
            }
            // Its future is being dropped further up the stack; it wakes us when it is gone.
            self.ended.numbers.borrow_mut().push_front(number);
        }
        self.ended.joiner.set(Some(cx.waker().clone()));
        Poll::Pending
    }

    /// Ends every task at its next await point. They are still to be joined, as aborted or with the output they had
    /// already.
    pub fn abort_all(&self) {
        self.tasks.iter().flatten().for_each(JoinHandle::abort);
    }

    /// Tasks not joined yet.
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

/// The future of a task in a set. Its fields are dropped in their order: the mark tells of an end that has happened.
struct Member<F> {
    future: F,
    _mark: Mark,
}

impl<F: Future> Future for Member<F> {
    type Output = F::Output;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is pinned with the whole: it is never moved out, and dropped in place.
        unsafe { self.map_unchecked_mut(|member| &mut member.future) }.poll(cx)
    }
}

/// Leaves the task's number with the set when it is dropped.
struct Mark {
    ended: Rc<Ended>,
    number: usize,
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.ended.numbers.borrow_mut().push_back(self.number);
        if let Some(joiner) = self.ended.joiner.take() {
            catch_panic(|| joiner.wake());
        }
    }
}
