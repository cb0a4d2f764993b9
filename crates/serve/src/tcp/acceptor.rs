//! One thread accepts and hands connections in turn to an epoll loop per core. Connections are spread evenly, and a burst of
//! new ones does not delay open ones.

use super::shared::accept;
use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::reactor::{Inline, Reactor, Source};
use super::shared::threads::run_workers;
use crate::{Counts, ServeError};
use brunt_runtime::CancellationToken;
use rustix::net::SocketFlags;
use std::sync::mpsc;

pub(crate) static MODEL: ServerModel = ServerModel {
    word: "acceptor",
    about: "an accepting thread, an epoll loop per core",
    backend: "an acceptor, an epoll loop a core",
    workers: Workers::Threads,
    concurrency: Concurrency::Serial,
    listener_per_worker: false,
    run,
};

fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    let (service, grace) = (context.options.service, context.options.grace);
    let listeners = context.listeners()?;
    let (mut reactors, mut inboxes) = (Vec::new(), Vec::new());
    for _ in &context.options.workers {
        let (send, inbox) = mpsc::channel();
        let reactor = Reactor::new(Source::Inbox(inbox))?;
        inboxes.push((send, reactor.wake_fd.clone()));
        reactors.push(reactor);
    }
    let body = |reactor: Reactor, stop: &CancellationToken| reactor.run(Inline::new(service), stop, grace);
    Ok(run_workers(&context.options.workers, context.stop, reactors, body, |stop| {
        context.listening(MODEL.backend);
        let mut turns = (0..inboxes.len()).cycle();
        accept::until(stop, &listeners, SocketFlags::NONBLOCK, |socket| {
            let (inbox, wake_fd) = &inboxes[turns.next().unwrap_or(0)];
            // A loop that is gone has failed, which ends all.
            let _ = inbox.send(socket);
            wake_fd.notify();
        })?;
        drop(listeners);
        // Closing the channels ends each loop once its connections are served.
        for (inbox, wake_fd) in inboxes {
            drop(inbox);
            wake_fd.notify();
        }
        Ok(())
    })?)
}
