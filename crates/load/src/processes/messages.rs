//! Messages between parent and workers. Both are the same executable, so messages have no version.

use crate::engine::{shared::Progress, thread::Message};
use crate::options::Options;
use serde::{Deserialize, Serialize};
use std::io;

/// The parent's first message: a worker's part.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    /// Options of the whole load, with the threads of all processes.
    pub options: Options,
    /// The worker's threads are `first..end`.
    pub first: usize,
    pub end: usize,
    /// Zero of the run's clock, in nanoseconds of CLOCK_MONOTONIC.
    pub zero_ns: u64,
}

/// From a worker.
#[derive(Serialize, Deserialize)]
pub enum Report {
    /// From a load thread, with its number.
    Thread(usize, Message),
    /// The first failed attempt to connect to a host.
    Refused { host: usize, error: SerialError },
    /// Progress of connecting, or connections lost and replaced.
    Connecting(Progress),
    /// The worker cannot do its part.
    Failed(String),
    /// The work is done. With an open loop, the requests that each thread took from its schedule.
    Done { taken: Vec<Option<u64>> },
}

/// An [`io::Error`] that can be serialized.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SerialError {
    Errno(i32),
    TimedOut,
    Other(String),
}

impl From<io::Error> for SerialError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::Errno(number),
            None if error.kind() == io::ErrorKind::TimedOut => Self::TimedOut,
            None => Self::Other(error.to_string()),
        }
    }
}

impl From<SerialError> for io::Error {
    fn from(error: SerialError) -> Self {
        match error {
            SerialError::Errno(number) => Self::from_raw_os_error(number),
            SerialError::TimedOut => io::ErrorKind::TimedOut.into(),
            SerialError::Other(text) => Self::other(text),
        }
    }
}
