//! The run: opens the connections, keeps the phases (warm-up, window, drain), collects, and reports.
//!
//! [`run`] works on the thread that calls it and never sends a request; load threads (one for each entry of
//! `Options::threads`) do, each on a runtime of its own, and share nothing that a request touches. A run always ends:
//! connecting, window and drain are each bounded, whatever the target does or fails to do.

use crate::{
    check,
    engine::{
        coordinator::Coordinator,
        limits,
        peers::NoPeers,
        shared::Shared,
        thread::{Channels, Message},
    },
    error::LoadError,
    measure::interval::Interval,
    observer::Observer,
    options::Options,
    protocol,
    report::Report,
    schedule::{Schedule, Share},
};
use std::{
    ops::Range,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread::{Builder, Scope, ScopedJoinHandle},
};

/// Makes the load that `options` ask for and reports what became of it. Blocks until the run is over; the observer is
/// called on this thread.
///
/// # Errors
/// If there can be no result: the options contradict themselves, the target cannot be connected to at all, or this
/// machine cannot hold the connections. A target that answers badly is a result.
pub fn run(options: &Options, observer: &mut dyn Observer) -> Result<Report, LoadError> {
    check::options(options)?;
    limits::make_room(options.connections, options.threads.len(), options.target.replaces_connections())?;
    let shared = Arc::new(Shared::new(options));
    std::thread::scope(|scope| {
        // Whatever happens in here, no thread is left waiting: the scope would wait for it.
        let _release = ReleaseOnDrop(&shared);
        let (out, messages) = mpsc::channel();
        let mut threads = start_threads(scope, &shared, 0..options.threads.len(), out)?;
        let spares = std::mem::take(&mut threads.spares);
        let mut coordinator = Coordinator::new(&shared, messages, spares, &NoPeers);
        coordinator.connect(observer)?;
        let collector = coordinator.drive(observer, schedules(options));
        let unsent: Vec<Schedule> = threads.join().into_iter().flatten().collect();
        match shared.take_broken() {
            Some(why) => Err(LoadError::Script(why)),
            None => Ok(coordinator.report(collector, &unsent)),
        }
    })
}

/// Some of the load threads of a run, running.
pub(crate) struct Threads<'s> {
    handles: Vec<ScopedJoinHandle<'s, Option<Schedule>>>,
    /// To each: emptied intervals.
    pub spares: Vec<Sender<Box<Interval>>>,
}

/// Starts the threads with these numbers; what they tell comes to `out`.
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
    /// Waits for their ends: the schedule of each, as far as it was taken.
    pub fn join(self) -> Vec<Option<Schedule>> {
        let joined = self.handles.into_iter().map(ScopedJoinHandle::join);
        joined.map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    }
}

pub(crate) fn share(options: &Options, thread: usize) -> Share {
    Share { thread, threads: options.threads.len(), connections: options.connections }
}

/// The schedule of a thread; none in a closed loop.
fn schedule(options: &Options, thread: usize) -> Option<Schedule> {
    Some(Schedule::new(options.arrival, options.rate?, options.seed, share(options, thread)))
}

/// The schedule of each thread; none in a closed loop.
pub(crate) fn schedules(options: &Options) -> Vec<Schedule> {
    (0..options.threads.len()).filter_map(|thread| schedule(options, thread)).collect()
}

/// Sends the load threads home when it goes out of scope.
pub(crate) struct ReleaseOnDrop<'s>(pub &'s Shared);

impl Drop for ReleaseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close_at(0);
        self.0.release.cancel();
        self.0.go.cancel();
    }
}
