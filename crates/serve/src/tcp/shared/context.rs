//! What a server model is, and what it is given to run.

use crate::listen::{self, Reserved};
use crate::work::Work;
use crate::{Counts, Notice, Options, ServeError, Service};
use brunt_runtime::{CancellationToken, net::Address};
use std::{fmt::Display, net::TcpListener, sync::mpsc};

/// A way to do the I/O of a TCP server: a row of the table in [`crate::tcp`].
#[derive(Debug)]
pub struct ServerModel {
    /// The name in flags, plans and results.
    pub word: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// The announced backend on one core.
    pub backend: &'static str,
    pub workers: Workers,
    pub concurrency: Concurrency,
    /// Each worker has its own listener (`SO_REUSEPORT`).
    pub(crate) listener_per_worker: bool,
    pub(crate) run: fn(&ModelContext) -> Result<Counts, ServeError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// A thread named `worker-N` per core.
    Threads,
    /// A process per core.
    Processes,
    /// Threads that share all connections.
    Pooled,
    /// One thread, whatever the number of cores.
    One,
}

/// How many requests a model serves at a time while their work sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// One per event loop.
    Serial,
    /// One per thread of `--pool`.
    Pool,
    /// All of them.
    Unlimited,
}

pub(crate) struct ModelContext<'a> {
    pub options: &'a Options,
    pub stop: &'a CancellationToken,
    pub notices: &'a mpsc::Sender<Notice>,
    /// Bound before any worker starts, so that a port in use is one error and port 0 the same port for all.
    pub reserved: Vec<Reserved>,
}

impl<'a> ModelContext<'a> {
    pub fn new(
        options: &'a Options,
        stop: &'a CancellationToken,
        notices: &'a mpsc::Sender<Notice>,
    ) -> Result<Self, ServeError> {
        let share = options.workers.len() > 1 && options.model.listener_per_worker;
        let addresses: Vec<_> = options.listen.iter().filter_map(Address::tcp).collect();
        Ok(Self { options, stop, notices, reserved: listen::reserve(&addresses, share)? })
    }

    pub fn listeners(&self) -> Result<Vec<TcpListener>, ServeError> {
        self.reserved.iter().map(Reserved::listener).collect()
    }

    /// The addresses other than TCP, each once.
    pub fn other_than_tcp(&self) -> impl Iterator<Item = &'a Address> {
        let all = &self.options.listen;
        let others = all.iter().enumerate().filter(|(at, one)| one.tcp().is_none() && !all[..*at].contains(one));
        others.map(|(_, one)| one)
    }

    pub fn listening(&self, backend: impl Display) {
        let tcp = self.reserved.iter().map(|reserved| reserved.address.into());
        let addresses = tcp.chain(self.other_than_tcp().cloned()).collect();
        let backend = match self.options.service {
            Service::Echo(work) if work != Work::None => format!("{backend}; {work} before each answer"),
            _ => backend.to_string(),
        };
        let _ = self.notices.send(Notice::Listening { addresses, backend });
    }
}
