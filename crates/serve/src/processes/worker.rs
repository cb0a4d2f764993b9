//! A worker process: serves on the listeners that the parent hands it, as the model does in a single process.

use super::{Order, Report, Task};
use crate::{Counts, Options, listen::Reserved, tcp::shared::context::ModelContext};
use brunt_multiprocess::{Parent, fd_limit};
use brunt_runtime::{CancellationToken, Spinning};
use std::{io, net::TcpListener, sync::mpsc, thread};

/// Serves as the parent orders until it is stopped. The process exits as soon as the parent does.
///
/// # Errors
/// The parent is gone, or sends something that is not an order.
pub fn run_worker(parent: Parent) -> io::Result<()> {
    let Some((task, reserved)) = recv_task(&parent)? else { return Ok(()) };
    match serve(&parent, task, reserved)? {
        Ok(counts) => parent.send(&Report::Done(counts)),
        Err(why) => parent.send(&Report::Failed(why)),
    }
}

/// What to serve and where; `None` if stopped before it begins.
fn recv_task(parent: &Parent) -> io::Result<Option<(Task, Vec<Reserved>)>> {
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

fn serve(parent: &Parent, task: Task, reserved: Vec<Reserved>) -> io::Result<Result<Counts, String>> {
    let options = Options {
        service: task.service,
        listen: reserved.iter().map(|reserved| reserved.address.into()).collect(),
        model: task.model.parse().map_err(io::Error::other)?,
        workers: task.workers,
        grace: task.grace,
        spin: Spinning { most: task.spin, connections: task.spin_connections },
        pool: task.pool,
        message: task.message,
    };
    if let Err(error) = fd_limit::raise() {
        return Ok(Err(format!("the limit of open files cannot be raised: {error}")));
    }
    let stop = CancellationToken::new();
    let raised = stop.clone();
    parent.handle_messages(move |order| {
        if let Order::Stop = order {
            raised.cancel();
        }
    })?;
    let (out, notices) = mpsc::channel();
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            // Moved here, so that the channel closes when the server ends.
            let out = out;
            let context = ModelContext { options: &options, stop: &stop, notices: &out, reserved };
            (options.model.run)(&context).map_err(|error| error.to_string())
        });
        for notice in notices {
            parent.send(&Report::Notice(notice))?;
            // Start-up code is no longer needed in memory; keeping it is harmless.
            let _ = brunt_runtime::drop_text_pages();
        }
        Ok(serving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
