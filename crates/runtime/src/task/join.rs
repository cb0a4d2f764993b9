//! `JoinHandle`: wait for a task's output, or abort it.

use super::{Token, cell::Joinable};
use crate::{executor, trace::event};
use std::{any::Any, fmt, future::Future, io, pin::Pin, rc::Rc, task};

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
            executor::wake(self.token);
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
    cause: Cause,
}

enum Cause {
    Aborted,
    Panic(Box<dyn Any + Send>),
    NoThread(io::Error),
}

impl JoinError {
    pub(crate) fn aborted() -> Self {
        Self { cause: Cause::Aborted }
    }

    pub(crate) fn panic(payload: Box<dyn Any + Send>) -> Self {
        let error = Self { cause: Cause::Panic(payload) };
        event!(ERROR, "a panic ended a task and nothing else"; error = error);
        error
    }

    pub(crate) fn no_thread(error: io::Error) -> Self {
        let error = Self { cause: Cause::NoThread(error) };
        event!(ERROR, "blocking work was not done"; error = error);
        error
    }

    /// The task was aborted.
    pub fn is_aborted(&self) -> bool {
        matches!(self.cause, Cause::Aborted)
    }

    /// The task panicked; the panic stayed in it.
    pub fn is_panic(&self) -> bool {
        matches!(self.cause, Cause::Panic(_))
    }

    /// The panic's payload, to be raised again with `std::panic::resume_unwind`.
    pub fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        match self.cause {
            Cause::Panic(payload) => Some(payload),
            _ => None,
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = match &self.cause {
            Cause::Aborted => return f.write_str("the task was aborted"),
            Cause::NoThread(error) => {
                return write!(f, "no thread can be started for blocking work: {error}; see ulimit -u and ulimit -v");
            }
            Cause::Panic(payload) => payload,
        };
        match payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref().map(String::as_str)) {
            Some(message) => write!(f, "the task panicked: {message}"),
            None => f.write_str("the task panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}
