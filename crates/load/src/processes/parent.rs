//! The parent process: starts the workers, gives each its part, and coordinates them as if their threads were its own.

use super::{Report, Start, Task, WORKER_ARGS};
use crate::engine::clock::Clock;
use crate::engine::inbox::{Outbox, blocking, channel};
use crate::engine::shared::{Progress, Shared};
use crate::{check, engine::coordinator::Coordinator, engine::message::Message, error::LoadError, report};
use crate::{observer::Observer, options::Options, run::schedules, schedule::Schedule};
use brunt_multiprocess::{WorkerEvent, Workers};
use brunt_spec::LoadSpec;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt::Display, io};

/// Requests that each thread took from its schedule; `None` until its process is done.
type Taken = Arc<Mutex<Vec<Option<u64>>>>;

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
    let receiver = |process: usize| {
        let (shared, taken, out) = (Arc::clone(&shared), Arc::clone(&taken), out.clone());
        let progress = Progress::none(shared.hosts.addresses.len());
        let first = first_threads[process];
        let mut receiver = Receiver { process, first, shared, taken, out, progress, is_done: false };
        move |event| receiver.on_event(event)
    };
    workers.listen(receiver).map_err(process_error)?;
    drop(out);
    workers.send_all(&Start { zero_ns: shared.clock.zero_ns() }).map_err(process_error)?;
    let mut coordinator = Coordinator::new(&shared, messages, Vec::new(), Some(&workers));
    blocking(coordinator.connect(observer))?;
    let collector = blocking(coordinator.drive(observer, schedules(options)));
    let taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(coordinator.report(collector, &unsent(options, &taken), observer))
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

struct Receiver {
    process: usize,
    first: usize,
    shared: Arc<Shared>,
    taken: Taken,
    out: Outbox,
    progress: Progress,
    is_done: bool,
}

impl Receiver {
    fn on_event(&mut self, event: WorkerEvent<Report>) {
        let report = match event {
            WorkerEvent::Message(report) => report,
            WorkerEvent::Exited if self.is_done => return,
            WorkerEvent::Exited => return self.pass_on(self.process, Message::Exited),
        };
        match report {
            Report::Thread(thread, message) => self.pass_on(thread, message),
            Report::Refused { host, error } => {
                let error = error.map_or_else(io::Error::other, io::Error::from_raw_os_error);
                self.shared.connecting.fail(host, error);
            }
            Report::Connecting(now) => {
                self.shared.connecting.advance(&self.progress, &now);
                self.progress = now;
            }
            Report::Failed(reason) => {
                self.is_done = true;
                let error = LoadError::Process(format!("process {}: {reason}", self.process + 1));
                self.pass_on(self.first, Message::Failed(error));
            }
            Report::Done { taken: counts, handshakes, outages } => {
                self.is_done = true;
                self.shared.handshakes().add(handshakes);
                self.shared.outages.join(outages);
                let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
                taken.iter_mut().skip(self.first).zip(counts).for_each(|(thread, count)| *thread = count);
            }
        }
    }

    fn pass_on(&self, thread: usize, message: Message) {
        self.out.send(thread, message);
    }
}
