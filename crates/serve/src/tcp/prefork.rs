//! A process per core with one epoll loop. All accept from one listener, and the kernel wakes all of them for each new
//! connection. Processes are started from this program's file, not forked.

use super::epoll;
use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::threads;
use crate::{Counts, ServeError, processes::Processes};
use std::{io, net::TcpListener};

pub(crate) static MODEL: ServerModel = ServerModel {
    word: "prefork",
    about: "a process per core, one shared listener",
    backend: "1 process",
    workers: Workers::Processes,
    concurrency: Concurrency::Serial,
    listener_per_worker: false,
    run,
};

fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    threads::check(&context.options.workers)?;
    let layout: Vec<_> = context.options.workers.iter().map(|core| vec![*core]).collect();
    let Some(processes) = Processes::start(context.options, epoll::ONE.word, &layout, context.stop)? else {
        return Ok(Counts::default());
    };
    let shared = context.listeners()?;
    let same = |_| shared.iter().map(TcpListener::try_clone).collect();
    let listeners = layout.iter().map(same).collect::<io::Result<Vec<_>>>()?;
    let backend = processes.listen(&context.reserved, &listeners, context.stop)?;
    // With a listener left open here, the kernel would go on to accept connections after the stop.
    drop((shared, listeners));
    if backend.is_none() {
        return Ok(Counts::default());
    }
    context.listening(format_args!("{} process{}", layout.len(), if layout.len() == 1 { "" } else { "es" }));
    processes.serve(None, context.stop, context.notices)
}
