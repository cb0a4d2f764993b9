//! One server made of several processes: for more connections than one process may have files, or by its model.
//!
//! - The parent accepts nothing. It starts the workers, waits until all are ready, and hands each its listeners: the same
//!   ones for all (preforked), or its own ([`tcp`]). Those are opened within moments of each other, so no client meets
//!   half a server; and the address is reserved, so no other process can take a share of it.
//! - With listeners of its own (SO_REUSEPORT), a process gets connections by a hash of their addresses. Each has capacity
//!   for more than the mean; see `DEVIATIONS`. Of several processes for a core, one is filled after the other; see `fill`.
//! - If a process is lost, the server ends: the others could not hold its connections.

mod fill;
mod parent;
mod worker;

pub(crate) use parent::Processes;
pub use parent::tcp;
pub use worker::run_worker;

use crate::{Counts, Notice, Options, Service};
use brunt_multiprocess::{Part, fd_limit, partition};
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, time::Duration};

/// Arguments with which this executable starts its workers; the command line must call [`run_worker`] for them.
pub const WORKER_ARGS: [&str; 2] = ["worker", "serve"];
/// Capacity of a process above the mean, in standard deviations. At six, one process of a thousand gets more connections
/// than it can hold in one run of a million.
const DEVIATIONS: f64 = 6.0;

/// The workers of each process, by core, in as few processes as hold `connections`. `None` if no number of processes
/// suffices.
pub fn layout(options: &Options, connections: u64) -> Option<Vec<Vec<Option<usize>>>> {
    let limit = fd_limit::hard();
    partition(&options.workers, connections, |part| {
        let listeners = part.slots * options.listen.len() as u64;
        capacity(part).saturating_add(fd_limit::overhead(part.slots) + listeners) <= limit
    })
}

/// The most connections that one process will get.
fn capacity(part: Part) -> u64 {
    match part.processes {
        1 => part.connections,
        _ => part.connections.saturating_add((DEVIATIONS * (part.connections as f64).sqrt()).ceil() as u64),
    }
}

/// A message from the parent. Messages carry no version: parent and workers are the same executable.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// What to serve; always the first message.
    Serve(Task),
    /// Comes with a listening socket for this address.
    Listener { address: SocketAddr, only_v6: bool },
    /// All listeners have been sent: serve.
    Go,
    /// Stop accepting and finish the open connections.
    Stop,
}

#[derive(Debug, Serialize, Deserialize)]
struct Task {
    service: Service,
    model: String,
    workers: Vec<Option<usize>>,
    grace: Duration,
    spin: Duration,
    spin_connections: u32,
    pool: Option<usize>,
    message: usize,
}

/// A message from a worker.
#[derive(Debug, Serialize, Deserialize)]
enum Report {
    /// The first one says that all threads of the process listen.
    Notice(Notice),
    /// The process cannot serve.
    Failed(String),
    /// The server has ended.
    Done(Counts),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_several_processes_need_capacity_above_the_mean() {
        let of = |processes, connections| capacity(Part { processes, slots: 1, connections });
        assert_eq!((of(1, 10_000), of(2, 10_000), of(50, 19_600)), (10_000, 10_600, 20_440));
        assert_eq!(of(2, u64::MAX), u64::MAX);
    }
}
