//! `JoinHandle`: waits for a task's output, or aborts the task.

use super::cell::{Joinable, TaskCell};
use super::context::{self, Scheduler};
use super::{JoinError, Token};
use std::{fmt, future::Future, pin::Pin, rc::Rc, task};

/// The future of a spawned task's output. Dropping it detaches the task, which continues to run.
pub struct JoinHandle<T> {
    cell: Rc<dyn Joinable<T>>,
    token: Token,
}

impl<T> JoinHandle<T> {
    /// Aborts the task at its next await point, where its future is dropped. A finished task keeps its output.
    pub fn abort(&self) {
        if !self.cell.is_done() {
            self.cell.request_abort();
            context::wake(self.token);
        }
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

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}
