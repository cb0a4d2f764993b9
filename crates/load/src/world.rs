//! Loads of a simulated world: the run of [`crate::run`], whose load threads are workers of the world.

use crate::engine::coordinator::Coordinator;
use crate::engine::inbox::{Outbox, channel};
use crate::engine::message::Message;
use crate::engine::thread::Channels;
use crate::engine::{clock::Clock, shared::Shared};
use crate::measure::{collector::Collector, interval::Interval};
use crate::run::{ReleaseOnDrop, make_room, schedules};
use crate::schedule::Schedule;
use crate::{check, protocol};
use crate::{error::LoadError, observer::Observer, options::Backend, options::Options, report::Report};
use brunt_runtime::{RemoteJoinHandle, Runtime, group};
use std::sync::mpsc::{self, Sender};
use std::{io, sync::Arc};

type Worker = RemoteJoinHandle<Option<Schedule>>;

/// Runs the load of `options` in the simulated world of this thread and returns its report. Calls the observer within this
/// future. Cores of threads mean nothing, and CPU times are 0; the kernel ids of the load threads are numbers from 1.
///
/// # Errors
/// As [`crate::run`].
///
/// # Panics
/// As a load thread did.
pub async fn run_in_world(options: &Options, observer: &mut dyn Observer) -> Result<Report, LoadError> {
    check::options(options)?;
    make_room(options.connections, options.threads.len(), options.target.replaces_connections())?;
    let shared = Arc::new(Shared::new(options, Clock::start()));
    let release = ReleaseOnDrop(&shared);
    let mut workers = Vec::new();
    let made = make(&shared, &mut workers, observer).await;
    // The report needs the end of the window, which a release takes away.
    let _release = made.is_ok().then_some(release);
    let mut unsent = Vec::new();
    for worker in workers {
        let ended = worker.await.expect("a load thread has panicked");
        unsent.extend(ended);
    }
    let (mut coordinator, collector) = made?;
    match shared.take_broken() {
        Some(reason) => Err(LoadError::Script(reason)),
        None => Ok(coordinator.report(collector, &unsent, observer)),
    }
}

async fn make<'s>(
    shared: &'s Arc<Shared>,
    workers: &mut Vec<Worker>,
    observer: &mut dyn Observer,
) -> Result<(Coordinator<'s>, Collector), LoadError> {
    let (out, messages) = channel();
    let mut spares = Vec::new();
    for thread in 0..shared.options.threads.len() {
        let (worker, spare) =
            start(shared, thread, &out).map_err(|error| LoadError::Thread { thread, core: None, error })?;
        workers.push(worker);
        spares.push(spare);
    }
    drop(out);
    let mut coordinator = Coordinator::new(shared, messages, spares, None);
    coordinator.connect(observer).await?;
    let collector = coordinator.drive(observer, schedules(&shared.options)).await;
    Ok((coordinator, collector))
}

/// Starts a worker, and returns where its emptied intervals go.
pub(crate) fn start(shared: &Arc<Shared>, thread: usize, out: &Outbox) -> io::Result<(Worker, Sender<Box<Interval>>)> {
    let (shared, share) = (Arc::clone(shared), shared.options.share(thread));
    let schedule = shared.options.schedule(shared.options.rate, shared.options.seed, share);
    let (spare, incoming) = mpsc::channel();
    let channels = Channels { out: out.clone(), spare: incoming };
    let work = move || async move {
        let ready = Message::Ready { tid: thread as u32 + 1, backend: Backend::Uring, fallback: None };
        channels.send(thread, ready);
        protocol::load(&shared, share, schedule, &channels).await
    };
    Ok((group::spawn(&Runtime::builder(), &format!("load-{thread}"), None, work)?, spare))
}
