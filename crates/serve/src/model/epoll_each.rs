//! An epoll loop on each core, each with a listener of its own: the kernel spreads the connections, by a hash.

use super::{
    reactor::{Own, Reactor, Source},
    stage::Stage,
    threads::each,
};
use crate::{Counts, ServeError};
use brunt_runtime::Stop;

pub(crate) fn run(stage: &Stage) -> Result<Counts, ServeError> {
    let (service, grace) = (stage.options.service, stage.options.grace);
    let reactor = |_| Ok(Reactor::new(Source::Listeners(stage.listeners()?))?);
    let reactors = stage.options.workers.iter().map(reactor).collect::<Result<Vec<_>, ServeError>>()?;
    let body = |reactor: Reactor, stop: &Stop| reactor.run(Own::new(service), stop, grace);
    Ok(each(&stage.options.workers, stage.stop, reactors, body, |_| {
        stage.listening("an epoll loop a core");
        Ok(())
    })?)
}
