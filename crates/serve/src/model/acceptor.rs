//! One thread accepts and hands the connections in turn to an epoll loop on each core: spread evenly, and a burst of new
//! ones holds up nobody who is served.

use super::{
    accept,
    reactor::{Own, Reactor, Source},
    stage::Stage,
    threads::each,
};
use crate::{Counts, ServeError};
use brunt_runtime::Stop;
use rustix::net::SocketFlags;
use std::sync::mpsc;

pub(crate) fn run(stage: &Stage) -> Result<Counts, ServeError> {
    let (service, grace) = (stage.options.service, stage.options.grace);
    let listeners = stage.listeners()?;
    let (mut reactors, mut inboxes) = (Vec::new(), Vec::new());
    for _ in &stage.options.workers {
        let (send, inbox) = mpsc::channel();
        let reactor = Reactor::new(Source::Inbox(inbox))?;
        inboxes.push((send, reactor.bell()));
        reactors.push(reactor);
    }
    let body = |reactor: Reactor, stop: &Stop| reactor.run(Own::new(service), stop, grace);
    Ok(each(&stage.options.workers, stage.stop, reactors, body, |stop| {
        stage.listening("an acceptor, an epoll loop a core");
        let mut turns = (0..inboxes.len()).cycle();
        accept::until(stop, &listeners, SocketFlags::NONBLOCK, |socket| {
            let (inbox, bell) = &inboxes[turns.next().unwrap_or(0)];
            // A loop that is gone has failed, which ends all.
            let _ = inbox.send(socket);
            bell.ring();
        })?;
        drop(listeners);
        // It hangs up: a loop ends when it has served those whom it has got.
        for (inbox, bell) in inboxes {
            drop(inbox);
            bell.ring();
        }
        Ok(())
    })?)
}
