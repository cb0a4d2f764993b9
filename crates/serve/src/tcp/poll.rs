//! One loop around poll(2), as in textbooks. Each turn passes all connections to the kernel, which checks all of them, so its
//! cost grows with the number of connections, active or not.

use super::shared::accept::{self, PAUSE, Taken, until_first};
use super::shared::connection::{BUFFER, Connection};
use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::threads::set_affinity;
use super::shared::wake_fd::{Shutdown, WakeFd};
use crate::{Counts, ServeError};
use rustix::event::{PollFd, PollFlags};
use rustix::net::SocketFlags;
use std::{io, net::TcpListener, time::Instant};

pub(crate) static MODEL: ServerModel = ServerModel {
    word: "poll",
    about: "one poll(2) loop",
    backend: "one poll loop",
    workers: Workers::One,
    concurrency: Concurrency::Serial,
    listener_per_worker: false,
    run,
};

fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    set_affinity(&context.options.workers)?;
    let listeners = context.listeners()?;
    context.listening(MODEL.backend);
    Ok(serve(context, listeners)?)
}

fn serve(context: &ModelContext, mut listeners: Vec<TcpListener>) -> io::Result<Counts> {
    let service = context.options.service;
    let wake_fd = WakeFd::new()?;
    let mut shutdown = Shutdown::new(context.stop, context.options.grace, &wake_fd);
    let mut buffer = vec![0; BUFFER];
    let mut connections: Vec<Connection> = Vec::new();
    let mut counts = Counts::default();
    // No accepting before this time: descriptors have run out.
    let mut again: Option<Instant> = None;
    while !shutdown.is_over() {
        if shutdown.has_begun() {
            listeners.clear();
            if connections.is_empty() {
                break;
            }
        }
        again = again.filter(|again| !listeners.is_empty() && Instant::now() < *again);
        let asked: &[TcpListener] = if again.is_none() { &listeners } else { &[] };
        let (ready, comes, rings) = {
            let mut all = vec![PollFd::new(&wake_fd, PollFlags::IN)];
            all.extend(asked.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
            all.extend(connections.iter().map(|connection| {
                let wanted = if connection.wants_write() { PollFlags::OUT } else { PollFlags::IN };
                PollFd::new(&connection.socket, wanted)
            }));
            accept::wait(&mut all, until_first([shutdown.deadline(), again]))?;
            let is_ready = |fd: &PollFd| !fd.revents().is_empty();
            let (others, connections) = all.split_at(1 + asked.len());
            let ready: Vec<usize> = (0..connections.len()).filter(|index| is_ready(&connections[*index])).collect();
            (ready, others[1..].iter().any(is_ready), is_ready(&others[0]))
        };
        // In reverse, so that swap_remove moves only connections already served.
        for index in ready.into_iter().rev() {
            if let Err(closed) = connections[index].turn(&mut buffer, service) {
                connections.swap_remove(index);
                counts.failed += u64::from(closed.failed);
            }
            if shutdown.is_over() {
                break;
            }
        }
        if comes && !shutdown.has_begun() {
            for listener in &listeners {
                let give = |socket| {
                    counts.accepted += 1;
                    connections.push(Connection::new(socket));
                };
                if accept::take(listener, SocketFlags::NONBLOCK, give) == Taken::Exhausted {
                    again = Some(Instant::now() + PAUSE);
                }
            }
        }
        if rings {
            wake_fd.drain();
        }
    }
    counts.cut = connections.len() as u64;
    Ok(counts)
}
