//! Event loops on raw epoll: one, whatever the number of cores, where serving a connection blocks all others; or one per
//! core, each with its own listener, where the kernel distributes connections by a hash (`SO_REUSEPORT`).

use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::reactor::{Inline, Reactor, Source};
use super::shared::threads::{run_workers, set_affinity};
use crate::{Counts, ServeError};
use brunt_runtime::CancellationToken;

pub(crate) static ONE: ServerModel = ServerModel {
    word: "epoll-one",
    about: "one epoll loop",
    backend: "one epoll loop",
    workers: Workers::One,
    concurrency: Concurrency::Serial,
    listener_per_worker: false,
    run,
};

pub(crate) static EACH: ServerModel = ServerModel {
    word: "epoll-each",
    about: "an epoll loop per core",
    backend: "an epoll loop a core",
    workers: Workers::Threads,
    concurrency: Concurrency::Serial,
    listener_per_worker: true,
    run: run_each,
};

/// One event loop that may use all cores of the server.
fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    let options = context.options;
    set_affinity(&options.workers)?;
    let reactor = Reactor::new(Source::Listeners(context.listeners()?))?;
    context.listening(ONE.backend);
    Ok(reactor.run(Inline::new(options.service), context.stop, options.grace)?)
}

fn run_each(context: &ModelContext) -> Result<Counts, ServeError> {
    let options = context.options;
    let reactor = |_| Ok(Reactor::new(Source::Listeners(context.listeners()?))?);
    let reactors = options.workers.iter().map(reactor).collect::<Result<Vec<_>, ServeError>>()?;
    let body =
        |reactor: Reactor, stop: &CancellationToken| reactor.run(Inline::new(options.service), stop, options.grace);
    Ok(run_workers(&options.workers, context.stop, reactors, body, |_| {
        context.listening(EACH.backend);
        Ok(())
    })?)
}
