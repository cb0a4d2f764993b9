//! Starts event loops on the cores of a server.

use super::context::ModelContext;
use super::reactor::{Dispatch, Reactor, Source};
use super::threads::{run_workers, set_affinity};
use crate::{Counts, ServeError};
use brunt_runtime::CancellationToken;

/// One event loop that may use all cores of the server.
pub(crate) fn one_loop(context: &ModelContext, backend: &str, dispatch: impl Dispatch) -> Result<Counts, ServeError> {
    set_affinity(&context.options.workers)?;
    let reactor = Reactor::new(Source::Listeners(context.listeners()?))?;
    context.listening(backend);
    Ok(reactor.run(dispatch, context.stop, context.options.grace)?)
}

/// An event loop per core, each with its own listeners.
pub(crate) fn each_loop<D: Dispatch>(
    context: &ModelContext,
    backend: &str,
    dispatch: impl Fn() -> D + Sync,
) -> Result<Counts, ServeError> {
    let workers = &context.options.workers;
    let reactor = |_| Ok(Reactor::new(Source::Listeners(context.listeners()?))?);
    let reactors = workers.iter().map(reactor).collect::<Result<Vec<_>, ServeError>>()?;
    let body = |reactor: Reactor, stop: &CancellationToken| reactor.run(dispatch(), stop, context.options.grace);
    Ok(run_workers(workers, context.stop, reactors, body, |_| {
        context.listening(backend);
        Ok(())
    })?)
}
