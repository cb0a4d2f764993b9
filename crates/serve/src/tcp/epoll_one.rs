//! One epoll loop, whatever the number of cores: whoever is being served, all others wait.

use super::{
    shared::context::ModelContext,
    shared::reactor::{Inline, Reactor, Source},
    shared::threads::set_affinity,
};
use crate::{Counts, ServeError};

pub(crate) fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    set_affinity(&context.options.workers)?;
    let reactor = Reactor::new(Source::Listeners(context.listeners()?))?;
    context.listening("one epoll loop");
    let dispatch = Inline::new(context.options.service);
    Ok(reactor.run(dispatch, context.stop, context.options.grace)?)
}
