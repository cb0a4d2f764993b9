//! A process for each core with one epoll loop; all of them accept from one listener, and the kernel wakes all of them for
//! each who comes. Nothing is forked: a process is this program, started again.

use super::shared::{context::ModelContext, threads};
use crate::{Counts, ServeError, processes};

pub(crate) fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    threads::check(&context.options.workers)?;
    processes::on_one_listener(context)
}
