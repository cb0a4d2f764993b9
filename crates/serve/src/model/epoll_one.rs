//! One epoll loop, whatever the number of cores: whoever is being served, all others wait.

use super::{
    reactor::{Own, Reactor, Source},
    stage::Stage,
    threads::confine,
};
use crate::{Counts, ServeError};

pub(crate) fn run(stage: &Stage) -> Result<Counts, ServeError> {
    confine(&stage.options.workers)?;
    let reactor = Reactor::new(Source::Listeners(stage.listeners()?))?;
    stage.listening("one epoll loop");
    let hands = Own::new(stage.options.service);
    Ok(reactor.run(hands, stage.stop, stage.options.grace)?)
}
