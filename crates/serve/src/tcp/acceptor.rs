//! One thread accepts and dispatch the connections in turn to an epoll loop on each core: spread evenly, and a burst of new
//! ones holds up nobody who is served.

use super::{
    shared::accept,
    shared::context::ModelContext,
    shared::reactor::{Inline, Reactor, Source},
    shared::threads::run_workers,
};
use crate::{Counts, ServeError};
use brunt_runtime::CancellationToken;
use rustix::net::SocketFlags;
use std::sync::mpsc;

pub(crate) fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    let (service, grace) = (context.options.service, context.options.grace);
    let listeners = context.listeners()?;
    let (mut reactors, mut inboxes) = (Vec::new(), Vec::new());
    for _ in &context.options.workers {
        let (send, inbox) = mpsc::channel();
        let reactor = Reactor::new(Source::Inbox(inbox))?;
        inboxes.push((send, reactor.wake_fd()));
        reactors.push(reactor);
    }
    let body = |reactor: Reactor, stop: &CancellationToken| reactor.run(Inline::new(service), stop, grace);
    Ok(run_workers(&context.options.workers, context.stop, reactors, body, |stop| {
        context.listening("an acceptor, an epoll loop a core");
        let mut turns = (0..inboxes.len()).cycle();
        accept::until(stop, &listeners, SocketFlags::NONBLOCK, |socket| {
            let (inbox, wake_fd) = &inboxes[turns.next().unwrap_or(0)];
            // A loop that is gone has failed, which ends all.
            let _ = inbox.send(socket);
            wake_fd.notify();
        })?;
        drop(listeners);
        // It hangs up: a loop ends when it has served those whom it has got.
        for (inbox, wake_fd) in inboxes {
            drop(inbox);
            wake_fd.notify();
        }
        Ok(())
    })?)
}
