//! The protocols of the load: what a request and its reply are on a connection.

pub(crate) mod echo;
pub(crate) mod http;

use crate::{
    engine::{
        shared::Shared,
        thread::{self, Channels, Message},
        transport::Socket,
        worker::Worker,
    },
    error::LoadError,
    options::{Endpoint, Target},
    schedule::{Schedule, Share},
};
use brunt_runtime::net::{Tcp, Unix};
use echo::Echo;
use http::HttpProtocol;
use std::sync::Arc;

/// One load thread from start to end, in the protocol of the target. Returns its schedule as far as it was taken.
pub(crate) fn run_thread(
    shared: &Arc<Shared>,
    share: Share,
    core: Option<usize>,
    schedule: Option<Schedule>,
    channels: &Channels,
) -> Option<Schedule> {
    let options = &shared.options;
    thread::run(share, core, channels, async || match &options.target {
        Target::Echo { size, endpoint } => {
            let (size, verify, seed) = (*size, options.verify, options.seed);
            match endpoint {
                Endpoint::Ip(_) => {
                    let echo = Echo::<Socket<Tcp>>::new(size, verify, seed);
                    thread::run_phases(Worker::new(shared, share, schedule, echo), channels).await
                }
                Endpoint::Unix(_) => {
                    let echo = Echo::<Socket<Unix>>::new(size, verify, seed);
                    thread::run_phases(Worker::new(shared, share, schedule, echo), channels).await
                }
            }
        }
        Target::Http(http) => match HttpProtocol::new(http, share, options.rate.is_some()) {
            Ok(http) => thread::run_phases(Worker::new(shared, share, schedule, http), channels).await,
            Err(reason) => {
                channels.send(share.thread, Message::Failed(LoadError::Script(reason)));
                None
            }
        },
    })
}
