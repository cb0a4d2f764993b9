//! `JoinHandle`: waits for a task's output, or aborts the task.

use super::cell::{Abortable, Joinable, TaskCell};
use super::context::{self, Scheduler};
use super::{JoinError, Token};
use std::{fmt, future::Future, pin::Pin, rc::Rc, task};

/// The future of a spawned task's output. Dropping it detaches the task, which continues to run.
pub struct JoinHandle<T> {
    cell: Rc<dyn Joinable<T>>,
    token: Token,
}

/// Aborts a task whose output is waited for elsewhere, or not at all: see [`JoinHandle::abort_handle`].
#[derive(Clone)]
pub struct AbortHandle {
    cell: Rc<dyn Abortable>,
    token: Token,
}

impl AbortHandle {
    /// As [`JoinHandle::abort`].
    pub fn abort(&self) {
        abort(&*self.cell, self.token);
    }

    /// As [`JoinHandle::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.cell.is_done()
    }
}

fn abort(cell: &dyn Abortable, token: Token) {
    if !cell.is_done() {
        cell.request_abort();
        context::wake(token);
    }
}

impl<T> JoinHandle<T> {
    /// Aborts the task at its next await point, where its future is dropped. A finished task keeps its output.
    pub fn abort(&self) {
        abort(&*self.cell, self.token);
    }

    /// A handle for aborting the task while this one is waited for.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle { cell: self.cell.clone(), token: self.token }
    }

    /// Whether the task has ended: with an output, by a panic or by an abort.
    pub fn is_finished(&self) -> bool {
        self.cell.is_done()
    }
}

impl Scheduler {
    pub fn spawn<F: Future + 'static>(&self, future: F) -> JoinHandle<F::Output> {
        let cell = Rc::new(TaskCell::new(future));
        let key = self.tasks.insert(cell.clone());
        JoinHandle { cell, token: Token::new(self.id, key) }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> task::Poll<Self::Output> {
        self.cell.poll_join(cx)
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("finished", &self.is_finished()).finish()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}
