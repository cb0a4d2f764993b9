//! Spawning tasks on a worker from any thread.

use crate::task::{JoinError, context};
use crate::{executor, task::registry::Remote};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::{fmt, sync::Arc};

/// A handle to a runtime, for any thread: spawns tasks there.
///
/// A closure makes the future on the runtime's thread, so the closure and the output are `Send` and the future need not be.
///
/// ```
/// use brunt_runtime::{Handle, Runtime};
///
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let thread = std::thread::spawn(move || {
///     Runtime::new().unwrap().block_on(async move {
///         sender.send(Handle::current()).unwrap();
///         std::future::pending::<()>().await
///     })
/// });
/// let there: Handle = receiver.recv().unwrap();
/// let id = Runtime::new()?.block_on(there.spawn(|| async { std::thread::current().id() }));
/// assert_eq!(id.unwrap(), thread.thread().id());
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct Handle {
    remote: Arc<Remote>,
}

impl Handle {
    /// The handle of this thread's runtime. Must be called inside `block_on`.
    #[track_caller]
    pub fn current() -> Self {
        executor::current(|worker| Self { remote: worker.remote.clone() })
    }

    /// Runs `make` on the runtime's thread and spawns the future it returns, at the runtime's next turn inside `block_on`.
    /// Dropping the returned handle detaches the task.
    ///
    /// If the runtime is dropped first, the task ends as aborted.
    pub fn spawn<M, F>(&self, make: M) -> RemoteJoinHandle<F::Output>
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let (sender, result) = oneshot::channel();
        let spawn = Box::new(move || {
            let task = async move {
                let output = catch_panics(async move { make().await }).await;
                // The handle may have been dropped.
                let _ = sender.send(output);
            };
            drop(crate::spawn(task));
        });
        if let Ok(true) = self.remote.mailbox.post_spawn(spawn) {
            context::wake_worker(self.remote.clone());
        }
        RemoteJoinHandle { result }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("worker", &self.remote.id).finish()
    }
}

/// The output of `future`, or the panic that ended it.
pub(crate) async fn catch_panics<F: Future>(future: F) -> Result<F::Output, JoinError> {
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => {
            executor::current(executor::Worker::count_panic);
            Poll::Ready(Err(JoinError::panic(payload)))
        }
    })
    .await
}

/// The output of a task of another thread: of [`Handle::spawn`] or [`spawn_blocking`](crate::spawn_blocking). May be awaited
/// on any thread and executor; dropping it detaches the task.
#[must_use = "the task runs anyway, but its output and its panic are lost"]
pub struct RemoteJoinHandle<T> {
    pub(crate) result: oneshot::Receiver<Result<T, JoinError>>,
}

impl<T> Future for RemoteJoinHandle<T> {
    type Output = Result<T, JoinError>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = Pin::new(&mut self.result).poll(cx);
        result.map(|result| result.unwrap_or_else(|_| Err(JoinError::aborted())))
    }
}

impl<T> fmt::Debug for RemoteJoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteJoinHandle").finish_non_exhaustive()
    }
}
