//! Runs a load: opens the connections, keeps the phases (warm-up, window, drain), collects, and reports.
//!
//! The calling thread never sends a request. Load threads do, each on a runtime of its own, and share nothing that a request
//! touches. A run always ends: connecting, window and drain are each bounded, whatever the target does.

use crate::engine::clock::{Clock, is_simulated};
use crate::engine::coordinator::Coordinator;
use crate::engine::inbox::{Outbox, blocking, channel};
use crate::engine::shared::Shared;
use crate::engine::thread::Channels;
use crate::schedule::Schedule;
use crate::{check, protocol};
use crate::{error::LoadError, measure::interval::Interval, observer::Observer, options::Options, report::Report};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::mpsc::{self, Sender};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::{ops::Range, sync::Arc};

/// Files of a load thread besides its connections: ring or epoll set, wake-up, and a margin.
const PER_THREAD: u64 = 8;
const MARGIN: u64 = 32;

/// Runs the load of `options` and returns its report. Blocks until the run is over; calls the observer on this thread.
///
/// # Errors
/// There is no result: the options contradict each other, no connection to a target could be opened, or this machine cannot
/// hold the connections. A target that answers badly is a result.
pub fn run(options: &Options, observer: &mut dyn Observer) -> Result<Report, LoadError> {
    check::options(options)?;
    if is_simulated() {
        return Err(LoadError::Options("a simulated world has no threads: use run_in_world".to_owned()));
    }
    // HTTP connections are closed and replaced throughout the load.
    make_room(options.connections, options.threads.len(), options.target.replaces_connections())?;
    let shared = Arc::new(Shared::new(options, Clock::start()));
    std::thread::scope(|scope| {
        // An error below must not leave threads waiting: the scope joins them.
        let _release = ReleaseOnDrop(&shared);
        let (out, messages) = channel();
        let mut threads = start_threads(scope, &shared, 0..options.threads.len(), out)?;
        let spares = std::mem::take(&mut threads.spares);
        let mut coordinator = Coordinator::new(&shared, messages, spares, None);
        blocking(coordinator.connect(observer))?;
        let collector = blocking(coordinator.drive(observer, schedules(options)));
        let unsent: Vec<Schedule> = threads.join().into_iter().flatten().collect();
        match shared.take_broken() {
            Some(reason) => Err(LoadError::Script(reason)),
            None => Ok(coordinator.report(collector, &unsent, observer)),
        }
    })
}

/// Raises the soft limit of open files for `connections`, or fails with how many the hard limit allows. Connections that are replaced
/// throughout the run may exist twice for a moment; for those it is raised as far as it goes.
pub(crate) fn make_room(connections: usize, threads: usize, replaces_connections: bool) -> Result<(), LoadError> {
    let open_now = std::fs::read_dir("/proc/self/fd").map_or(64, |entries| entries.count() as u64);
    let overhead = open_now + threads as u64 * PER_THREAD + MARGIN;
    let needed = connections as u64 + overhead;
    let wanted = needed + if replaces_connections { connections as u64 } else { 0 };
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (soft, hard) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    if wanted <= soft {
        return Ok(());
    }
    if needed > hard || setrlimit(Resource::Nofile, Rlimit { current: Some(wanted.min(hard)), maximum }).is_err() {
        return Err(LoadError::Descriptors { connections, fit: hard.saturating_sub(overhead) as usize, limit: hard });
    }
    Ok(())
}

pub(crate) struct Threads<'s> {
    handles: Vec<ScopedJoinHandle<'s, Option<Schedule>>>,
    pub spares: Vec<Sender<Box<Interval>>>,
}

/// Starts the threads of these numbers; they send their messages to `out`.
pub(crate) fn start_threads<'s>(
    scope: &'s Scope<'s, '_>,
    shared: &Arc<Shared>,
    numbers: Range<usize>,
    out: Outbox,
) -> Result<Threads<'s>, LoadError> {
    let mut threads = Threads { handles: Vec::new(), spares: Vec::new() };
    for number in numbers {
        let (spare, work) = thread_work(shared, number, &out);
        threads.spares.push(spare);
        let thread = thread_builder(number).spawn_scoped(scope, work);
        threads.handles.push(thread.map_err(|error| LoadError::Thread {
            thread: number,
            core: shared.options.threads[number],
            error,
        })?);
    }
    Ok(threads)
}

pub(crate) fn thread_builder(number: usize) -> Builder {
    Builder::new().name(format!("load-{number}"))
}

/// What the thread of this number runs, and where its emptied intervals are returned.
pub(crate) fn thread_work(
    shared: &Arc<Shared>,
    number: usize,
    out: &Outbox,
) -> (Sender<Box<Interval>>, impl FnOnce() -> Option<Schedule> + Send + 'static) {
    let options = &shared.options;
    let (core, share) = (options.threads[number], options.share(number));
    let schedule = options.schedule(options.rate, options.seed, share);
    let (spare, incoming) = mpsc::channel();
    let channels = Channels { out: out.clone(), spare: incoming };
    let shared = Arc::clone(shared);
    (spare, move || protocol::run_thread(&shared, share, core, schedule, &channels))
}

impl Threads<'_> {
    /// Waits for the threads to end; returns the schedule of each as far as it was taken.
    pub fn join(self) -> Vec<Option<Schedule>> {
        let joined = self.handles.into_iter().map(ScopedJoinHandle::join);
        joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    }
}

pub(crate) fn schedules(options: &Options) -> Vec<Schedule> {
    (0..options.threads.len())
        .filter_map(|thread| options.schedule(options.rate, options.seed, options.share(thread)))
        .collect()
}

/// Ends the load threads when dropped.
pub(crate) struct ReleaseOnDrop<'s>(pub &'s Shared);

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_connections_are_rejected_with_the_number_that_fits() {
        assert!(make_room(10, 2, true).is_ok());
        let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let Some(too_many) = hard.checked_add(1) else { return };
        match make_room(too_many as usize, 2, false).unwrap_err() {
            LoadError::Descriptors { fit, limit, .. } => {
                assert_eq!(limit, hard);
                assert!((fit as u64) < hard && fit as u64 > hard / 2);
            }
            other => panic!("{other}"),
        }
    }
}
