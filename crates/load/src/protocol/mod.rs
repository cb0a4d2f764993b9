//! Protocols of the load: requests and replies on a connection.

pub(crate) mod echo;
pub(crate) mod http;

use crate::engine::message::Message;
use crate::engine::thread::{self, Channels};
use crate::engine::trace::Trace;
use crate::engine::worker::{Protocol, Worker};
use crate::engine::{shared::Shared, slices};
use crate::error::LoadError;
use crate::options::Target;
use crate::schedule::{Schedule, Share};
use echo::Echo;
use http::HttpProtocol;
use std::{io, sync::Arc};

/// Runs one load thread in the protocol of the target. Returns its schedule as far as it was taken.
pub(crate) fn run_thread(
    shared: &Arc<Shared>,
    share: Share,
    core: Option<usize>,
    schedule: Option<Schedule>,
    channels: &Channels,
) -> Option<Schedule> {
    let backend = shared.options.backend;
    thread::run(share, core, backend, channels, || load(shared, share, schedule, channels))
}

/// The load of one thread, on its runtime. Returns its schedule as far as it was taken.
pub(crate) async fn load(
    shared: &Arc<Shared>,
    share: Share,
    schedule: Option<Schedule>,
    channels: &Channels,
) -> Option<Schedule> {
    match on_worker(shared, share, schedule, Load(channels)).await {
        Ok(schedule) => schedule,
        Err(reason) => {
            channels.send(share.thread, Message::Failed(LoadError::Script(reason)));
            None
        }
    }
}

/// The first requests of a load, which are one write, on a connection of their own; false if it was lost before all were
/// answered.
///
/// # Errors
/// The script's; within, that of opening the connection.
pub(crate) async fn once(shared: &Arc<Shared>, share: Share, trace: impl Trace) -> Result<io::Result<bool>, String> {
    let options = &shared.options;
    let schedule = options.schedule(options.rate, options.seed, share);
    on_worker(shared, share, schedule, Once(trace)).await
}

/// What is done with the worker of a load, whatever its protocol.
trait Work {
    type Output;

    async fn on<P: Protocol>(self, worker: Worker<P>) -> Self::Output;
}

/// Makes the worker of one thread in the protocol of the target.
///
/// # Errors
/// The script's, if it cannot make its source.
async fn on_worker<W: Work>(
    shared: &Arc<Shared>,
    share: Share,
    schedule: Option<Schedule>,
    work: W,
) -> Result<W::Output, String> {
    let options = &shared.options;
    Ok(match &options.target {
        Target::Echo { size, reuse, .. } => {
            let echo = Echo::new(*size, *reuse, !options.direct.no_verify, options.seed);
            work.on(Worker::new(shared, share, schedule, echo)).await
        }
        Target::Http(http) => {
            let http = HttpProtocol::new(http, share, options)?;
            work.on(Worker::new(shared, share, schedule, http)).await
        }
    })
}

struct Load<'c>(&'c Channels);

impl Work for Load<'_> {
    type Output = Option<Schedule>;

    async fn on<P: Protocol>(self, worker: Worker<P>) -> Option<Schedule> {
        let shared = Arc::clone(&worker.shared);
        match &shared.commands {
            None => thread::run_phases(worker, self.0).await,
            Some(commands) => {
                slices::run(worker, commands, self.0).await;
                None
            }
        }
    }
}

struct Once<T>(T);

impl<T: Trace> Work for Once<T> {
    type Output = io::Result<bool>;

    async fn on<P: Protocol>(self, worker: Worker<P>) -> io::Result<bool> {
        let now = worker.clock.now();
        worker.shared.begin(now, now, u64::MAX);
        {
            let scheduler = &mut worker.core.borrow_mut().scheduler;
            scheduler.recorder.begin(now, now);
            scheduler.begin(now);
        }
        P::once(&worker, 0, self.0).await
    }
}
