//! What a resource tells the engine, and the figures of a run.

use crate::dose::WorkTime;
use crate::error::StressError;
use crate::stop::Stop;
use brunt_results::Cores;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Words for the figures of a resource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figure {
    pub(crate) resource: &'static str,
    /// Unit of the work, in the plural.
    pub(crate) unit: &'static str,
    pub(crate) other: Other,
    pub(crate) work_time: WorkTime,
}

/// Meaning of the second count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Other {
    Nothing,
    /// Bytes that arrived at the sink of this process.
    Received,
    /// Processes that the system refused to start.
    Refused,
}

pub(crate) trait Resource: Sync {
    fn figure(&self) -> Figure;

    /// Bytes of the working set or file over all threads.
    fn size(&self) -> Option<u64> {
        None
    }

    /// A line for the user once all workers are ready.
    fn notice(&self) -> Option<String> {
        None
    }

    /// The work of one thread. Called on that thread, which is pinned.
    fn worker(&self, index: usize, stop: &Stop) -> Result<Box<dyn Worker + '_>, StressError>;
}

pub(crate) trait Worker {
    /// Does some work and returns the number of units. Takes less than a millisecond unless the system blocks it, and then
    /// returns within a tenth of a second if the resource permits.
    fn step(&mut self) -> Result<u64, StressError>;

    /// The second count so far.
    fn other(&self) -> u64 {
        0
    }

    /// Ends the work. Returns the units done since the last step.
    fn finish(&mut self) -> Result<u64, StressError> {
        Ok(0)
    }
}

/// Counts of one thread, alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counts {
    done: AtomicU64,
    other: AtomicU64,
}

impl Counts {
    /// Called by the thread of the counts only.
    pub(crate) fn add(&self, done: u64, other: u64) {
        self.done.store(self.done.load(Ordering::Relaxed) + done, Ordering::Relaxed);
        self.other.store(other, Ordering::Relaxed);
    }

    pub(crate) fn sum(all: &[Self]) -> (u64, u64) {
        let sum = |count: fn(&Self) -> &AtomicU64| all.iter().map(|one| count(one).load(Ordering::Relaxed)).sum();
        (sum(|one| &one.done), sum(|one| &one.other))
    }
}

/// Work since the start.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub elapsed: Duration,
    pub done: u64,
    pub unit: &'static str,
}

/// Figures of a run. Figures that do not apply to the resource are `null`.
#[derive(Debug, Clone, Serialize)]
pub struct Total {
    pub resource: &'static str,
    /// Unit of `done`: operations, accesses, bytes or processes.
    pub unit: &'static str,
    pub threads: usize,
    pub cores: Option<Cores>,
    /// Part of the time for which each thread was to work.
    pub share: Option<f64>,
    /// Units per second that were asked for.
    pub target_rate_per_s: Option<f64>,
    /// Working set or file, over all threads.
    pub size_bytes: Option<u64>,
    pub elapsed_s: f64,
    pub done: u64,
    pub rate_per_s: f64,
    /// CPU time of this process and of the processes that it started.
    pub cpu_s: Option<f64>,
    /// Network: bytes that arrived at the sink of this process.
    pub received: Option<u64>,
    /// Fork: processes that the system refused to start.
    pub refused: Option<u64>,
}
