//! The parent process: starts the workers, gives each its part, and coordinates them as if their threads were its own.

use super::last::Last;
use super::receiver::{Receiver, Taken};
use super::{Start, Task, WORKER_ARGS};
use crate::engine::clock::Clock;
use crate::engine::coordinator::Coordinator;
use crate::engine::inbox::{blocking, channel};
use crate::engine::others::{Order, Others};
use crate::engine::shared::Shared;
use crate::{check, error::LoadError, report};
use crate::{observer::Observer, options::Options, run::schedules, schedule::Schedule};
use brunt_multiprocess::{WorkerEvent, Workers};
use brunt_spec::LoadSpec;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt::Display, time::Duration};

/// Time for an order to reach one more process.
const NOTICE: Duration = Duration::from_millis(2);

/// Runs the load of `options`, which are those of `spec`, in as many processes as `layout` has parts, each this executable started with
/// [`WORKER_ARGS`]. Blocks until the run is over. Calls the observer on this thread, with the kernel ids of the load threads
/// of all processes.
///
/// # Errors
/// As [`crate::run`]; or a process could not be started, or was lost before the load began.
pub fn run(
    spec: &LoadSpec,
    options: &Options,
    layout: &[Vec<Option<usize>>],
    observer: &mut dyn Observer,
) -> Result<report::Report, LoadError> {
    let options = &Options { group: Some(options.threads.len()), threads: layout.concat(), ..options.clone() };
    check::options(options)?;
    let workers = Workers::start(&WORKER_ARGS, layout.len(), || false).map_err(process_error)?;
    let first_threads: Vec<usize> =
        (0..layout.len()).map(|process| layout[..process].iter().map(Vec::len).sum()).collect();
    for (process, first) in first_threads.iter().copied().enumerate() {
        let spec = LoadSpec { seed: Some(options.seed), ..spec.clone() };
        let (counts, threads, group) = (options.counts, options.threads.clone(), options.group);
        let task = Task { spec, counts, threads, group, first, end: first + layout[process].len() };
        workers.send(process, &task, None).map_err(process_error)?;
    }
    for process in 0..layout.len() {
        let answer: Option<Result<(), String>> = workers.recv(process).map_err(process_error)?;
        let resolved = answer.ok_or_else(|| LoadError::Process(workers.exit_reason(process)))?;
        resolved.map_err(|why| LoadError::Process(format!("process {}: {why}", process + 1)))?;
    }
    let shared = Arc::new(Shared::new(options, Clock::start()));
    let taken = Taken::new(Mutex::new(vec![None; options.threads.len()]));
    let (out, messages) = channel();
    let last = options.requests.map(|_| Arc::new(Last::of(layout.len())));
    let receiver = |process: usize| {
        let name = format!("process {}", process + 1);
        let first = first_threads[process];
        let threads = first..first + layout[process].len();
        let receiver = Receiver::new(process, name, threads, (&shared, &taken), out.clone());
        let mut receiver = receiver.counted(last.clone());
        move |event| match event {
            WorkerEvent::Message(report) => {
                let _ = receiver.take(report).map_err(|why| receiver.fail(&why));
            }
            WorkerEvent::Exited => receiver.exited(),
        }
    };
    workers.listen(receiver).map_err(process_error)?;
    drop(out);
    workers.send_all(&Start { zero_ns: shared.clock.zero_ns() }).map_err(process_error)?;
    let mut coordinator = Coordinator::new(&shared, messages, Vec::new(), Some(&workers));
    blocking(coordinator.connect(observer))?;
    Ok(drive(coordinator, options, &taken, observer))
}

impl Others for Workers {
    fn order(&self, order: Order) {
        // A worker that cannot be reached has exited, which its receiver reports.
        let _ = self.send_all(&order);
    }

    fn notice(&self) -> Duration {
        NOTICE * self.count() as u32
    }

    fn exit_reason(&self, number: usize) -> String {
        Workers::exit_reason(self, number)
    }
}

/// Drives a load that others make, with connections that are open, to its report; their [receivers](Receiver) fill `taken`.
pub fn drive(
    mut coordinator: Coordinator<'_>,
    options: &Options,
    taken: &Taken,
    observer: &mut dyn Observer,
) -> report::Report {
    let collector = blocking(coordinator.drive(observer, schedules(options)));
    let taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
    coordinator.report(collector, &unsent(options, &taken), observer)
}

fn process_error(error: impl Display) -> LoadError {
    LoadError::Process(error.to_string())
}

/// The schedules, advanced to where the threads left them. Leaves out those of a lost process: what it had sent is unknown.
fn unsent(options: &Options, taken: &[Option<u64>]) -> Vec<Schedule> {
    let advance = |(mut schedule, taken): (Schedule, &Option<u64>)| {
        for _ in 0..(*taken)? {
            schedule.take();
        }
        Some(schedule)
    };
    schedules(options).into_iter().zip(taken).filter_map(advance).collect()
}
