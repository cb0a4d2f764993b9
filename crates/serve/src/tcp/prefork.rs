//! One process for each worker, each with one epoll loop; all accept from the same listeners, and the kernel wakes all of
//! them for every connection. The processes are started from this executable, not forked.

use super::{
    TcpModel,
    shared::{context::ModelContext, threads},
};
use crate::{Counts, ServeError, processes::Processes};
use std::{io, net::TcpListener};

pub(crate) fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    threads::check(&context.options.workers)?;
    let layout: Vec<_> = context.options.workers.iter().map(|core| vec![*core]).collect();
    let model = TcpModel::EpollOne.to_string();
    let Some(processes) = Processes::start(context.options, &model, &layout, context.stop)? else {
        return Ok(Counts::default());
    };
    let shared = context.listeners()?;
    let same = |_| shared.iter().map(TcpListener::try_clone).collect();
    let listeners = layout.iter().map(same).collect::<io::Result<Vec<_>>>()?;
    // With a listener left open here, the kernel would go on to accept connections after the stop.
    drop(shared);
    if processes.listen(&context.reserved, listeners, context.stop)?.is_none() {
        return Ok(Counts::default());
    }
    context.listening(format_args!("{} process{}", layout.len(), if layout.len() == 1 { "" } else { "es" }));
    processes.serve(context.stop, context.notices)
}
