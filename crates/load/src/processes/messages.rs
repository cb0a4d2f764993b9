//! What parent and mates tell each other. Both are the same program, so nothing here has versions.

pub use crate::engine::peers::Order;
use crate::{engine::shared::Progress, measure::interval::Interval, options::Options};
use brunt_runtime::BackendKind;
use serde::{Deserialize, Serialize};
use std::io;

/// The first word of the parent: the part of a mate.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    /// The whole load, with the threads of all processes.
    pub options: Options,
    /// The first thread of this one.
    pub first: usize,
    /// The thread behind its last.
    pub end: usize,
    /// Zero of the run's clock, on CLOCK_MONOTONIC.
    pub zero_ns: u64,
}

/// From a mate.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// It has been started and waits for its part.
    Here,
    /// A load thread runs.
    Ready { thread: usize, tid: u32, backend: Backend, fallback: Option<String> },
    /// Attempts to connect to a host have failed; the first of them.
    Refused { host: usize, error: Trouble },
    /// Connecting has come so far, or connections were lost or replaced.
    Connecting(Progress),
    /// A load thread has seen another interval.
    Interval { thread: usize, interval: Box<Interval> },
    /// It cannot do its part, and why.
    Failed(String),
    /// All is over; how many requests each of its threads took from its schedule, in an open loop.
    Done { taken: Vec<Option<u64>> },
}

/// How load threads talk to the kernel.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Backend {
    Uring,
    Epoll,
}

impl From<BackendKind> for Backend {
    fn from(kind: BackendKind) -> Self {
        match kind {
            BackendKind::Uring => Self::Uring,
            BackendKind::Epoll => Self::Epoll,
        }
    }
}

impl From<Backend> for BackendKind {
    fn from(backend: Backend) -> Self {
        match backend {
            Backend::Uring => Self::Uring,
            Backend::Epoll => Self::Epoll,
        }
    }
}

/// An error of the kernel, or of ours.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    Kernel(i32),
    TimedOut,
    Other(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::Kernel(number),
            None if error.kind() == io::ErrorKind::TimedOut => Self::TimedOut,
            None => Self::Other(error.to_string()),
        }
    }
}

impl From<Trouble> for io::Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Kernel(number) => Self::from_raw_os_error(number),
            Trouble::TimedOut => io::ErrorKind::TimedOut.into(),
            Trouble::Other(text) => Self::other(text),
        }
    }
}
