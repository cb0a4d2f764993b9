//! One load made by several processes, for more connections than one process may have files.
//!
//! - The load threads of all processes are numbered consecutively and share one schedule, so connections keep their
//!   numbers and requests their times. All clocks are CLOCK_MONOTONIC.
//! - The parent coordinates and collects as it does for its own threads, and sends no requests. Workers send it their
//!   histograms cell by cell, so percentiles are those of all requests.
//! - Each process resolves the description of the load itself: addresses are looked up and files are read where the load runs.
//! - Of a number of requests each process has a fixed share, by its threads; the window ends with the process that is done last.
//! - If a process is lost, the run ends and keeps what was measured.
//! - Parent and workers are the same executable, so messages between them have no version.

mod last;
mod parent;
mod part;
mod receiver;
mod worker;

pub(crate) use last::Last;
pub(crate) use parent::drive;
pub use parent::run;
pub(crate) use part::{make_room_for, obey, run as run_part};
pub(crate) use receiver::{Receiver, Taken};
pub use worker::run_worker;

use crate::engine::message::Message;
use crate::engine::shared::{Progress, Shared};
use crate::http::Http;
use crate::measure::{counter::Counting, handshakes::Handshakes, outages::Outage};
use crate::{error::LoadError, options::Options};
use brunt_multiprocess::{Part, fd_limit, partition};
use brunt_spec::LoadSpec;
use serde::{Deserialize, Serialize};
use std::io;

/// Arguments with which this executable starts its workers; the command line must call [`run_worker`] for them.
pub const WORKER_ARGS: [&str; 2] = ["worker", "load"];

/// The threads of each process, by core: a single process if it can hold all connections.
///
/// # Errors
/// No number of processes suffices.
pub fn layout(options: &Options) -> Result<Vec<Vec<Option<usize>>>, LoadError> {
    // A script stays in one process, which reports if it is too small.
    if !options.target.is_distributable() {
        return Ok(vec![options.threads.clone()]);
    }
    let limit = fd_limit::hard();
    // A connection that is replaced is closed a little later.
    let closing = if options.target.replaces_connections() { 32 } else { u64::MAX };
    let fits = |part: Part| {
        (part.connections + part.connections / closing).saturating_add(fd_limit::overhead(part.slots)) <= limit
    };
    partition(&options.threads, options.connections as u64, fits).ok_or(LoadError::Descriptors {
        connections: options.connections,
        fit: limit.saturating_sub(fd_limit::overhead(options.threads.len() as u64)) as usize,
        limit,
    })
}

/// The parent's first message: a worker's part. The answer is a `Result<(), String>`: whether the description is resolved.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    /// The whole load, with its seed.
    spec: LoadSpec,
    counts: Option<Counting>,
    /// Those of all processes, and how many form a group.
    threads: Vec<Option<usize>>,
    group: Option<usize>,
    /// The worker's threads are `first..end`.
    first: usize,
    end: usize,
}

/// The parent's second message, once all workers have resolved the description.
#[derive(Debug, Serialize, Deserialize)]
struct Start {
    /// Zero of the run's clock, in nanoseconds of CLOCK_MONOTONIC.
    zero_ns: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum Report {
    Thread(usize, Message),
    /// The first failed attempt to connect to a host; the error as its number or its text.
    Refused {
        host: usize,
        error: Result<i32, String>,
    },
    /// Progress of connecting, or connections lost and replaced.
    Connecting(Progress),
    Failed(String),
    /// A process has done its share of the requests: its window ends at this time of the run's clock.
    ShareDone(u64),
    /// The names that a script has given so far, by their number in this process: those of the next parts.
    Names(Vec<String>),
    /// The work is done.
    Done {
        /// With an open loop, the requests that each thread took from its schedule.
        taken: Vec<Option<u64>>,
        handshakes: Handshakes,
        outages: Vec<Outage>,
        /// What a script has left on each thread that has left something, by the number of the thread.
        left: Vec<(usize, String)>,
    },
}

/// The error of [`Report::Refused`].
pub(crate) fn refusal(error: Result<i32, String>) -> io::Error {
    error.map_or_else(io::Error::other, io::Error::from_raw_os_error)
}

impl Report {
    /// The last one, of the threads from `first` on, which have ended and took so many requests from their schedules.
    pub fn done(shared: &Shared, first: usize, taken: Vec<Option<u64>>) -> Self {
        let script = shared.options.target.http().and_then(Http::script);
        let of = |thread: usize| Some((thread, script?.left(thread)?));
        let left = (first..first + taken.len()).filter_map(of).collect();
        let (handshakes, outages) = (std::mem::take(&mut *shared.handshakes()), shared.outages.take());
        Self::Done { taken, handshakes, outages, left }
    }
}
