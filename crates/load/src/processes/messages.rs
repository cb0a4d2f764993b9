//! Messages between parent and workers. Both are the same executable, so messages have no version.

use crate::engine::{shared::Progress, thread::Message};
use crate::options::Options;
use serde::{Deserialize, Serialize};

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

#[derive(Serialize, Deserialize)]
pub enum Report {
    Thread(usize, Message),
    /// The first failed attempt to connect to a host; the error as its number or its text.
    Refused {
        host: usize,
        error: Result<i32, String>,
    },
    /// Progress of connecting, or connections lost and replaced.
    Connecting(Progress),
    Failed(String),
    /// The work is done. With an open loop, the requests that each thread took from its schedule.
    Done {
        taken: Vec<Option<u64>>,
    },
}
