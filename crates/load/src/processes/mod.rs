//! One load made by several processes, for more connections than one may have files.
//!
//! The load threads of all processes are numbered through, as if they were those of one: so the schedule is one schedule,
//! dealt to them in the same way, and connections keep their numbers. All clocks are CLOCK_MONOTONIC. The parent conducts
//! and collects, exactly as it does for threads of its own, and sends no request; what a process has counted in a second
//! comes to it cell by cell, so percentiles are those of all requests together. A process that is lost ends the run, which
//! keeps what was measured.

mod messages;
mod parent;
mod worker;

pub use parent::run;
pub use worker::run_worker;

use crate::{
    engine::limits::beside,
    error::LoadError,
    options::{Options, Target},
};

/// What makes a process of this program part of a load: whoever links this crate answers these arguments with a call of
/// [`run_worker`].
pub const WORKER_ARGS: [&str; 2] = ["worker", "load"];

/// Which threads, by their cores, each process has: one process if it can hold all connections.
///
/// # Errors
/// No number of processes could.
pub fn layout(options: &Options) -> Result<Vec<Vec<Option<usize>>>, LoadError> {
    // Requests over HTTP, and their scripts, stay in one process; if that is too small, it says so.
    if matches!(options.target, Target::Http(_)) {
        return Ok(vec![options.threads.clone()]);
    }
    let limit = brunt_multiprocess::fd_limit::hard();
    let fits = |part: brunt_multiprocess::Part| part.connections.saturating_add(beside(part.slots)) <= limit;
    brunt_multiprocess::partition(&options.threads, options.connections as u64, fits).ok_or(LoadError::Descriptors {
        connections: options.connections,
        fit: limit.saturating_sub(beside(options.threads.len() as u64)) as usize,
        limit,
    })
}
