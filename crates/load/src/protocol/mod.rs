//! Protocols of the load: requests and replies on a connection.

pub(crate) mod echo;
pub(crate) mod http;

use crate::engine::message::Message;
use crate::engine::thread::{self, Channels};
use crate::engine::worker::{Protocol, Worker};
use crate::engine::{shared::Shared, slices};
use crate::error::LoadError;
use crate::options::Target;
use crate::schedule::{Schedule, Share};
use echo::Echo;
use http::HttpProtocol;
use std::sync::Arc;

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
    let options = &shared.options;
    match &options.target {
        Target::Echo { size, reuse, .. } => {
            let echo = Echo::new(*size, *reuse, !options.direct.no_verify, options.seed);
            work(Worker::new(shared, share, schedule, echo), channels).await
        }
        Target::Http(http) => match HttpProtocol::new(http, share, options.rate.is_some()) {
            Ok(http) => work(Worker::new(shared, share, schedule, http), channels).await,
            Err(reason) => {
                channels.send(share.thread, Message::Failed(LoadError::Script(reason)));
                None
            }
        },
    }
}

async fn work<P: Protocol>(worker: Worker<P>, channels: &Channels) -> Option<Schedule> {
    let shared = Arc::clone(&worker.shared);
    match &shared.commands {
        None => thread::run_phases(worker, channels).await,
        Some(commands) => {
            slices::run(worker, commands, channels).await;
            None
        }
    }
}
