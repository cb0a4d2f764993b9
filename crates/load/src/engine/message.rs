//! What load threads tell whoever coordinates them.

use super::{commands::Drained, first_failures::Told};
use crate::error::LoadError;
use crate::measure::{breakdown::Parts, counter, interval::Interval, served::Served};
use crate::options::Backend;
use serde::{Deserialize, Serialize};

/// From a load thread to the thread that called `run`, which may be in another process.
#[derive(Serialize, Deserialize)]
pub enum Message {
    Ready {
        tid: u32,
        backend: Backend,
        /// Why the backend is not io_uring.
        fallback: Option<String>,
    },
    Interval(Box<Interval>),
    Counts(Box<counter::Part>),
    Served(Served),
    /// At the end of a thread.
    FirstFailures(Told),
    /// At the end of a thread.
    Parts(Parts),
    /// The connections lost between slices are open again, or cannot be opened.
    #[serde(skip)]
    Reopened,
    /// A slice is over; its intervals were sent before.
    #[serde(skip)]
    Drained(Box<Drained>),
    #[serde(skip)]
    Failed(LoadError),
    /// The process of this number, instead of a thread's, has exited early.
    #[serde(skip)]
    Exited,
}
