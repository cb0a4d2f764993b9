//! How much a task may do in one poll: a number of operations, so that a task whose operations are always ready does not hold up
//! its worker.

use crate::executor;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Takes one operation from what this poll of the task may do. If that is used up, the task is woken, to go on after the others.
///
/// Writes, datagrams, accepting, and everything else that goes through [`AsyncFd`](crate::net::AsyncFd), keep to it. Reads end with
/// what the worker has received before. Timers that are due, tokens and finished tasks take nothing. It is for futures of other
/// crates that are written by hand; see [`budgeted`].
pub fn poll_budget(cx: &Context<'_>) -> Poll<()> {
    executor::try_current(|worker| worker.poll_budget(cx)).unwrap_or(Poll::Ready(()))
}

/// A future of another crate that keeps to the budget, such as a receive from a channel that is never empty:
///
/// ```
/// use brunt_runtime::{Runtime, budgeted, spawn};
/// use std::future::ready;
///
/// Runtime::new()?.block_on(async {
///     // Without it, this task would never let go of the worker.
///     let busy = spawn(async { loop { budgeted(ready(())).await } });
///     let other = spawn(async { "runs" });
///     assert_eq!(other.await.unwrap(), "runs");
///     busy.abort();
/// });
/// # std::io::Result::Ok(())
/// ```
pub fn budgeted<F: Future>(future: F) -> impl Future<Output = F::Output> {
    Budgeted(future)
}

struct Budgeted<F>(F);

impl<F: Future> Future for Budgeted<F> {
    type Output = F::Output;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        ready!(poll_budget(cx));
        // SAFETY: the field is pinned with the whole; nothing moves it.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(cx)
    }
}
