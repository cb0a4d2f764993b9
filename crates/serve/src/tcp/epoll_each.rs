//! An epoll loop on each core, each with a listener of its own: the kernel spreads the connections, by a hash.

use super::{
    shared::context::ModelContext,
    shared::reactor::{Inline, Reactor, Source},
    shared::threads::run_workers,
};
use crate::{Counts, ServeError};
use brunt_runtime::CancellationToken;

pub(crate) fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    let (service, grace) = (context.options.service, context.options.grace);
    let reactor = |_| Ok(Reactor::new(Source::Listeners(context.listeners()?))?);
    let reactors = context.options.workers.iter().map(reactor).collect::<Result<Vec<_>, ServeError>>()?;
    let body = |reactor: Reactor, stop: &CancellationToken| reactor.run(Inline::new(service), stop, grace);
    Ok(run_workers(&context.options.workers, context.stop, reactors, body, |_| {
        context.listening("an epoll loop a core");
        Ok(())
    })?)
}
