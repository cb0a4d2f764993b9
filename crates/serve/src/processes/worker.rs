//! A mate: serves on the listeners that it is given, as the models do in one process, until it is told to stop.

use super::messages::{Order, Report, Task};
use crate::{Counts, Options, listen::Reserved, tcp::shared::context::ModelContext};
use brunt_runtime::{Spinning, Stop};
use std::{
    io,
    net::TcpListener,
    process,
    sync::mpsc,
    thread::{self, Builder},
};

/// Serves as the parent says until that is done. The process ends with its parent, whatever it does at that moment.
///
/// # Errors
/// Nobody can be told: the parent is gone, or is none of ours.
pub fn run_worker(parent: brunt_multiprocess::Parent) -> io::Result<()> {
    parent.send(&Report::Here)?;
    let Some((task, reserved)) = part(&parent)? else { return Ok(()) };
    match serve(&parent, task, reserved)? {
        Ok(counts) => parent.send(&Report::Done(counts)),
        Err(why) => parent.send(&Report::Failed(why)),
    }
}

/// What to serve, and where; nothing if it will not come to it.
fn part(parent: &brunt_multiprocess::Parent) -> io::Result<Option<(Task, Vec<Reserved>)>> {
    let (mut task, mut reserved) = (None, Vec::new());
    loop {
        match parent.recv()? {
            Some((Order::Serve(part), _)) => task = Some(part),
            Some((Order::Listener { address, only_v6 }, Some(file))) => {
                reserved.push(Reserved::adopt(TcpListener::from(file), address, only_v6));
            }
            Some((Order::Go, _)) => return Ok(task.map(|task| (task, reserved))),
            Some((Order::Listener { .. } | Order::Stop, _)) | None => return Ok(None),
        }
    }
}

fn serve(
    parent: &brunt_multiprocess::Parent,
    task: Task,
    reserved: Vec<Reserved>,
) -> io::Result<Result<Counts, String>> {
    let options = Options {
        service: task.service,
        listen: reserved.iter().map(|reserved| reserved.address).collect(),
        model: task.model.parse().map_err(io::Error::other)?,
        workers: task.workers,
        grace: task.grace,
        spin: Spinning { most: task.spin, connections: task.spin_connections },
        pool: task.pool,
    };
    if let Err(error) = brunt_multiprocess::fd_limit::raise() {
        return Ok(Err(format!("the limit of open files cannot be raised: {error}")));
    }
    let stop = Stop::new();
    let (orders, stopped) = (parent.try_clone()?, stop.clone());
    Builder::new().name("orders".to_owned()).spawn(move || {
        while let Ok(Some((Order::Stop, _))) = orders.recv() {
            stopped.raise();
        }
        // Without its parent it is no part of a server, and nobody would ever stop it.
        process::exit(1);
    })?;
    let (notices, heard) = mpsc::channel();
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            // The channel ends with the server.
            let notices = notices;
            let context = ModelContext { options: &options, stop: &stop, notices: &notices, reserved };
            options.model.run(&context).map_err(|error| error.to_string())
        });
        for notice in heard {
            parent.send(&Report::Notice(notice))?;
            // The start is over; it is no loss if its text cannot be let go of.
            let _ = brunt_runtime::let_go_of_text();
        }
        Ok(serving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
