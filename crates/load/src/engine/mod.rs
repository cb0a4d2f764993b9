//! The run: opens the connections, keeps the phases (warm-up, window, drain), collects, and reports.
//!
//! [`run`] works on the thread that calls it and never sends a request; load threads (one for each entry of
//! `Options::threads`) do, each on a runtime of its own, and share nothing that a request touches. A run always ends:
//! connecting, window and drain are each bounded, whatever the target does or fails to do.

pub(crate) mod channel;
mod conductor;
pub(crate) mod connect;
mod dispatch;
mod hosts;
mod limits;
pub(crate) mod protocol;
pub(crate) mod roster;
pub(crate) mod shared;
mod thread;
pub(crate) mod worker;
pub(crate) mod write;

use crate::{
    check,
    error::LoadError,
    observer::Observer,
    options::{Options, Target},
    report::Report,
    schedule::{Schedule, Share},
};
use conductor::Conductor;
use shared::Shared;
use std::{
    sync::{Arc, mpsc},
    thread::Builder,
};
use thread::Channels;

/// Makes the load that `options` ask for and reports what became of it. Blocks until the run is over; the observer is
/// called on this thread.
///
/// # Errors
/// If there can be no result: the options contradict themselves, the target cannot be connected to at all, or this
/// machine cannot hold the connections. A target that answers badly is a result.
pub fn run(options: &Options, observer: &mut dyn Observer) -> Result<Report, LoadError> {
    check::options(options)?;
    let replaced = matches!(options.target, Target::Http(_));
    limits::make_room(options.connections, options.threads.len(), replaced)?;
    let shared = Arc::new(Shared::new(options));
    let schedules = schedules(options);
    std::thread::scope(|scope| {
        // Whatever happens in here, no thread is left waiting: the scope would wait for it.
        let _dismiss = Dismiss(&shared);
        let (out, messages) = mpsc::channel();
        let mut spares = Vec::new();
        let mut threads = Vec::new();
        for (number, core) in options.threads.iter().copied().enumerate() {
            let (spare, incoming) = mpsc::channel();
            spares.push(spare);
            let channels = Channels { out: out.clone(), spare: incoming };
            let (share, schedule) = (share(options, number), schedules.get(number).cloned());
            let shared = Arc::clone(&shared);
            let thread = Builder::new()
                .name(format!("load-{number}"))
                .spawn_scoped(scope, move || thread::run(shared, share, core, schedule, channels));
            threads.push(thread.map_err(|error| LoadError::Thread { thread: number, core, error })?);
        }
        drop(out);
        let mut conductor = Conductor::new(&shared, messages, spares);
        conductor.connect(observer)?;
        let collector = conductor.drive(observer, schedules);
        let mut unsent = Vec::new();
        for thread in threads {
            match thread.join() {
                Ok(schedule) => unsent.extend(schedule),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        match shared.take_broken() {
            Some(why) => Err(LoadError::Script(why)),
            None => Ok(conductor.report(collector, &unsent)),
        }
    })
}

fn share(options: &Options, thread: usize) -> Share {
    Share { thread, threads: options.threads.len(), connections: options.connections }
}

/// The schedule of each thread; none in a closed loop.
fn schedules(options: &Options) -> Vec<Schedule> {
    let of = |rate: f64| {
        (0..options.threads.len())
            .map(|thread| Schedule::new(options.arrival, rate, options.seed, share(options, thread)))
            .collect()
    };
    options.rate.map(of).unwrap_or_default()
}

/// Sends the load threads home when it goes out of scope.
struct Dismiss<'s>(&'s Shared);

impl Drop for Dismiss<'_> {
    fn drop(&mut self) {
        self.0.close_at(0);
        self.0.release.raise();
        self.0.go.raise();
    }
}
