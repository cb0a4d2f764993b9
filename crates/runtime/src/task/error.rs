//! `JoinError`: why a task has no output.

use crate::trace::event;
use std::sync::{Mutex, PoisonError};
use std::{any::Any, fmt, io};

/// Why a task has no output.
pub struct JoinError {
    cause: Cause,
}

enum Cause {
    Aborted,
    /// Locked, for an error that `?` converts is to be `Sync`, and a payload is not.
    Panic(Mutex<Box<dyn Any + Send>>),
    NoThread(io::Error),
}

impl JoinError {
    pub(crate) fn aborted() -> Self {
        Self { cause: Cause::Aborted }
    }

    pub(crate) fn panic(payload: Box<dyn Any + Send>) -> Self {
        let error = Self { cause: Cause::Panic(Mutex::new(payload)) };
        event!(ERROR, "a panic ended a task and nothing else"; error = error);
        error
    }

    pub(crate) fn no_thread(error: io::Error) -> Self {
        let error = Self { cause: Cause::NoThread(error) };
        event!(ERROR, "blocking work was not done"; error = error);
        error
    }

    /// Whether the task was aborted.
    pub fn is_aborted(&self) -> bool {
        matches!(self.cause, Cause::Aborted)
    }

    /// Whether the task panicked. The panic ends that task only.
    pub fn is_panic(&self) -> bool {
        matches!(self.cause, Cause::Panic(_))
    }

    /// Returns the panic's payload, for `std::panic::resume_unwind`.
    pub fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        match self.cause {
            Cause::Panic(payload) => Some(payload.into_inner().unwrap_or_else(PoisonError::into_inner)),
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
            Cause::Panic(payload) => payload.lock().unwrap_or_else(PoisonError::into_inner),
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

impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        Self::other(error)
    }
}
