//! An epoll loop per core, each with its own listener; the kernel distributes connections by a hash (`SO_REUSEPORT`).

use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::loops::each_loop;
use super::shared::reactor::Inline;
use crate::{Counts, ServeError};

pub(crate) static MODEL: ServerModel = ServerModel {
    word: "epoll-each",
    about: "an epoll loop per core",
    backend: "an epoll loop a core",
    workers: Workers::Threads,
    concurrency: Concurrency::Serial,
    listener_per_worker: true,
    run,
};

fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    each_loop(context, MODEL.backend, || Inline::new(context.options.service))
}
