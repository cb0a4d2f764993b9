//! The parent: starts the mates, gives each its part, and conducts them as if their threads were its own.

use super::{
    WORKER_ARGS,
    messages::{Order, Report, Task},
};
use crate::{
    check,
    engine::{
        coordinator::Coordinator,
        peers::Peers,
        shared::{Progress, Shared},
        thread::Message,
    },
    error::LoadError,
    observer::Observer,
    options::Options,
    report,
    run::schedules,
    schedule::Schedule,
};
use brunt_multiprocess::{WorkerEvent, Workers};
use std::{
    cell::RefCell,
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    time::Duration,
};

/// How long a process may take from its start to its first word, on a machine that starts all of them at once.
const SLOWEST_START: Duration = Duration::from_secs(60);
/// For an order to reach one more process.
const START_DELAY_EACH: Duration = Duration::from_millis(2);

/// Makes the load that `options` ask for in as many processes as `layout` has parts, each of them this program started with
/// [`WORKER_ARGS`]. Blocks until the run is over; the observer is called on this thread, and
/// hears the kernel ids of all load threads, whosever they are.
///
/// # Errors
/// As [`crate::run`]; or a process could not be started, or was lost before the load began.
pub fn run(
    options: &Options,
    layout: &[Vec<Option<usize>>],
    observer: &mut dyn Observer,
) -> Result<report::Report, LoadError> {
    let options = &Options { threads: layout.concat(), ..options.clone() };
    check::options(options)?;
    let firsts = firsts(layout);
    let hub = Arc::new(Hub { shared: OnceLock::new(), taken: Mutex::new(vec![None; options.threads.len()]) });
    let (out, messages) = mpsc::channel();
    let (here, arrivals) = mpsc::channel();
    let hear = {
        let (hub, firsts, mut told) = (Arc::clone(&hub), firsts.clone(), Vec::new());
        told.resize_with(layout.len(), || Arc::new(Mutex::new(Ear::default())));
        move |process: usize, heard: WorkerEvent<Report>| {
            let ear = &mut *told[process].lock().unwrap_or_else(PoisonError::into_inner);
            ear.hear(process, firsts[process], heard, &hub, &out, &here);
        }
    };
    let failed = |error: io::Error| {
        let count = layout.len();
        LoadError::Process(format!("{count} processes could not be started ({error}): raise ulimit -u, or lower -c"))
    };
    let crew = Processes(RefCell::new(Workers::start(&WORKER_ARGS, layout.len(), hear).map_err(failed)?));
    crew.gather(&arrivals)?;

    let shared = Shared::new(options);
    let zero_ns = shared.clock.zero_ns();
    let shared = hub.shared.get_or_init(|| shared);
    for (process, first) in firsts.iter().copied().enumerate() {
        let end = first + layout[process].len();
        let task = Task { options: options.clone(), first, end, zero_ns };
        crew.0.borrow().send(process, &task, None).map_err(failed)?;
    }
    let mut coordinator = Coordinator::new(shared, messages, Vec::new(), &crew);
    coordinator.connect(observer)?;
    let collector = coordinator.drive(observer, schedules(options));
    Ok(coordinator.report(collector, &hub.unsent(options)))
}

/// The number of the first thread of each process.
fn firsts(layout: &[Vec<Option<usize>>]) -> Vec<usize> {
    (0..layout.len()).map(|process| layout[..process].iter().map(Vec::len).sum()).collect()
}

/// Where what the mates say comes together.
struct Hub {
    /// Set before any of them is told to do something.
    shared: OnceLock<Shared>,
    /// How many requests each thread took from its schedule.
    taken: Mutex<Vec<Option<u64>>>,
}

impl Hub {
    /// The schedules as far as the threads took them. What a lost process has left unsent cannot be known, and is not
    /// guessed: its schedules are left out.
    fn unsent(&self, options: &Options) -> Vec<Schedule> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |(mut schedule, taken): (Schedule, &Option<u64>)| {
            for _ in 0..(*taken)? {
                schedule.take();
            }
            Some(schedule)
        };
        schedules(options).into_iter().zip(&*taken).filter_map(at).collect()
    }
}

/// Hears one mate.
#[derive(Default)]
struct Ear {
    progress: Option<Progress>,
    is_done: bool,
}

impl Ear {
    /// Notes what process number `process`, whose first thread is `first`, has said.
    fn hear(
        &mut self,
        process: usize,
        first: usize,
        heard: WorkerEvent<Report>,
        hub: &Hub,
        out: &Sender<(usize, Message)>,
        here: &Sender<Result<(), usize>>,
    ) {
        // Nobody listens any more only when the run has failed elsewhere, or what is said here was for an earlier moment.
        let say = |thread, message| {
            let _ = out.send((thread, message));
        };
        let arrive = |arrival| {
            let _ = here.send(arrival);
        };
        let (report, shared) = match (heard, hub.shared.get()) {
            (WorkerEvent::Message(Report::Here), _) => return arrive(Ok(())),
            (WorkerEvent::Message(report), Some(shared)) => (report, shared),
            // It is gone before it was told anything: those who wait for its first word hear it, or those who conduct.
            (_, None) => {
                arrive(Err(process));
                return say(process, Message::Gone);
            }
            (WorkerEvent::Exited, Some(_)) if self.is_done => return,
            (WorkerEvent::Exited, Some(_)) => return say(process, Message::Gone),
        };
        match report {
            Report::Here => (),
            Report::Ready { thread, tid, backend, fallback } => {
                say(thread, Message::Ready { tid, backend: backend.into(), fallback });
            }
            Report::Interval { thread, interval } => say(thread, Message::Interval(interval)),
            Report::Refused { host, error } => shared.connecting.fail(host, error.into()),
            Report::Connecting(now) => {
                let before = self.progress.take().unwrap_or_else(|| Progress::none(shared.hosts.addresses.len()));
                shared.connecting.advance(&before, &now);
                self.progress = Some(now);
            }
            Report::Failed(why) => {
                self.is_done = true;
                say(first, Message::Failed(LoadError::Process(format!("process {}: {why}", process + 1))));
            }
            Report::Done { taken: all } => {
                self.is_done = true;
                let mut taken = hub.taken.lock().unwrap_or_else(PoisonError::into_inner);
                taken.iter_mut().skip(first).zip(all).for_each(|(thread, taken)| *thread = taken);
            }
        }
    }
}

/// The mates, as the coordinator sees them.
struct Processes(RefCell<Workers>);

impl Processes {
    /// Waits until all have said that they are there.
    fn gather(&self, arrivals: &Receiver<Result<(), usize>>) -> Result<(), LoadError> {
        for _ in 0..self.0.borrow().count() {
            match arrivals.recv_timeout(SLOWEST_START) {
                Ok(Ok(())) => (),
                Ok(Err(process)) => return Err(LoadError::Process(self.exit_reason(process))),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let text =
                        format!("a process did not begin within {SLOWEST_START:?}: the machine has too much to do");
                    return Err(LoadError::Process(text));
                }
            }
        }
        Ok(())
    }
}

impl Peers for Processes {
    fn order(&self, order: Order) {
        // A mate that cannot be told is gone, and heard to be.
        let _ = self.0.borrow().send_all(&order);
    }

    fn start_delay(&self) -> Duration {
        START_DELAY_EACH * self.0.borrow().count() as u32
    }

    fn exit_reason(&self, process: usize) -> String {
        self.0.borrow_mut().exit_reason(process)
    }
}
