//! Runs a load: opens the connections, keeps the phases (warm-up, window, drain), collects, and reports.
//!
//! The calling thread never sends a request. Load threads do, each on a runtime of its own, and share nothing that a request
//! touches. A run always ends: connecting, window and drain are each bounded, whatever the target does.

use crate::engine::coordinator::Coordinator;
use crate::engine::shared::{Clock, Shared};
use crate::engine::thread::{Channels, Message};
use crate::schedule::{Schedule, Share};
use crate::{check, engine::limits, protocol};
use crate::{error::LoadError, measure::interval::Interval, observer::Observer, options::Options, report::Report};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Runs the load of `options` and returns its report. Blocks until the run is over; calls the observer on this thread.
///
/// # Errors
/// There is no result: the options contradict each other, no connection to a target could be opened, or this machine cannot
/// hold the connections. A target that answers badly is a result.
pub fn run(options: &Options, observer: &mut dyn Observer) -> Result<Report, LoadError> {
    check::options(options)?;
    // HTTP connections are closed and replaced throughout the load.
    limits::make_room(options.connections, options.threads.len(), options.target.http().is_some())?;
    let shared = Arc::new(Shared::new(options, Clock::start()));
    std::thread::scope(|scope| {
        // An error below must not leave threads waiting: the scope joins them.
        let _release = ReleaseOnDrop(&shared);
        let (out, messages) = mpsc::channel();
        let mut threads = start_threads(scope, &shared, 0..options.threads.len(), out)?;
        let spares = std::mem::take(&mut threads.spares);
        let mut coordinator = Coordinator::new(&shared, messages, spares, None);
        coordinator.connect(observer)?;
        let collector = coordinator.drive(observer, schedules(options));
        let unsent: Vec<Schedule> = threads.join().into_iter().flatten().collect();
        match shared.take_broken() {
            Some(reason) => Err(LoadError::Script(reason)),
            None => Ok(coordinator.report(collector, &unsent)),
        }
    })
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
    out: Sender<(usize, Message)>,
) -> Result<Threads<'s>, LoadError> {
    let options = &shared.options;
    let mut threads = Threads { handles: Vec::new(), spares: Vec::new() };
    for number in numbers {
        let (spare, incoming) = mpsc::channel();
        threads.spares.push(spare);
        let channels = Channels { out: out.clone(), spare: incoming };
        let (core, share, schedule) = (options.threads[number], share(options, number), schedule(options, number));
        let shared = Arc::clone(shared);
        let thread = Builder::new()
            .name(format!("load-{number}"))
            .spawn_scoped(scope, move || protocol::run_thread(&shared, share, core, schedule, &channels));
        threads.handles.push(thread.map_err(|error| LoadError::Thread { thread: number, core, error })?);
    }
    Ok(threads)
}

impl Threads<'_> {
    /// Waits for the threads to end; returns the schedule of each as far as it was taken.
    pub fn join(self) -> Vec<Option<Schedule>> {
        let joined = self.handles.into_iter().map(ScopedJoinHandle::join);
        joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    }
}

pub(crate) fn share(options: &Options, thread: usize) -> Share {
    Share { thread, threads: options.threads.len(), connections: options.connections }
}

/// The schedule of a thread; `None` in a closed loop.
fn schedule(options: &Options, thread: usize) -> Option<Schedule> {
    Some(Schedule::new(options.arrival, options.rate?, options.seed, share(options, thread)))
}

pub(crate) fn schedules(options: &Options) -> Vec<Schedule> {
    (0..options.threads.len()).filter_map(|thread| schedule(options, thread)).collect()
}

/// Ends the load threads when dropped.
pub(crate) struct ReleaseOnDrop<'s>(pub &'s Shared);

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close_at(0);
        self.0.release.cancel();
        self.0.go.cancel();
    }
}
