//! One epoll loop, whatever the number of cores. Serving one connection blocks all others.

use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::loops::one_loop;
use super::shared::reactor::Inline;
use crate::{Counts, ServeError};

pub(crate) static MODEL: ServerModel = ServerModel {
    word: "epoll-one",
    about: "one epoll loop",
    backend: "one epoll loop",
    workers: Workers::One,
    concurrency: Concurrency::Serial,
    listener_per_worker: false,
    run,
};

fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    one_loop(context, MODEL.backend, Inline::new(context.options.service))
}
