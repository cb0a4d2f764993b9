//! `JoinHandle`: wait for a task's output, or abort it.

use super::{Token, cell::Joinable};
use crate::worker;
use std::{any::Any, fmt, future::Future, pin::Pin, rc::Rc, task};

/// A claim on the output of a spawned task. Dropping it lets the task run on unwatched.
pub struct JoinHandle<T> {
    cell: Rc<dyn Joinable<T>>,
    token: Token,
}

impl<T> JoinHandle<T> {
    pub(crate) fn new(cell: Rc<dyn Joinable<T>>, token: Token) -> Self {
        Self { cell, token }
    }

    /// Ends the task at its next await point; its future is dropped there. A finished task keeps its output.
    pub fn abort(&self) {
        if !self.cell.is_done() {
            self.cell.request_abort();
            worker::wake(self.token);
        }
    }

    /// Whether the task has ended, in whatever way.
    pub fn is_finished(&self) -> bool {
        self.cell.is_done()
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

/// Why a task has no output.
pub struct JoinError {
    panic: Option<Box<dyn Any + Send>>,
}

impl JoinError {
    pub(crate) fn aborted() -> Self {
        Self { panic: None }
    }

    pub(crate) fn panic(payload: Box<dyn Any + Send>) -> Self {
        Self { panic: Some(payload) }
    }

    /// The task was aborted.
    pub fn is_aborted(&self) -> bool {
        self.panic.is_none()
    }

    /// The task panicked; the panic stayed in it.
    pub fn is_panic(&self) -> bool {
        self.panic.is_some()
    }

    /// The panic's payload, to be raised again with `std::panic::resume_unwind`.
    pub fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        self.panic
    }

    fn message(&self) -> Option<&str> {
        let payload = self.panic.as_ref()?;
        payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str))
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.panic, self.message()) {
            (None, _) => f.write_str("the task was aborted"),
            (Some(_), Some(message)) => write!(f, "the task panicked: {message}"),
            (Some(_), None) => f.write_str("the task panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}
