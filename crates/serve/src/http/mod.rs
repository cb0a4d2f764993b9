//! An HTTP/1 server: what is said is decided by routes and handlers, how by one sans-I/O conversation on `brunt_wire::http1`,
//! and the I/O is a model's. [`Server`] is the way in.
//!
//! ```text
//! Plan (data) -> Router (a worker's, ready to serve) -> Constant | Handler -> Answer -> bytes
//!                  ^ replaced as a whole when the plan is
//! native | tokio -> life -> [secure ->] connection -> conversation
//! ```

mod access_log;
mod action;
mod config;
mod connection;
mod conversation;
mod deadlines;
mod handlers;
pub mod message;
mod metrics;
mod native;
mod response_writer;
mod router;
mod shared;
mod tls;
mod tokio;
mod usual;
mod worker;
mod worker_loop;

pub use config::{CertCache, Plan, Service, Settings, read_routes};
pub use handlers::{Handler, script};

use crate::{
    Counts, Model, Notice, ServeError,
    listen::{self, Reserved},
};
use brunt_runtime::{BackendKind, CancellationToken, Spinning};
use shared::Shared;
use std::{
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    sync::{Arc, mpsc},
    time::Duration,
};

/// What is asked of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is served, and where.
    pub plan: Plan,
    /// How the I/O is done.
    pub model: Model,
    /// One worker for each entry, pinned to that core; `None` leaves the thread where the scheduler puts it.
    pub workers: Vec<Option<usize>>,
    /// How long requests under way may still take after the stop.
    pub grace: Duration,
    /// What a worker does before it sleeps.
    pub spin: Spinning,
    /// What a client may cost.
    pub settings: Settings,
    /// A file that gets a line a request; `-` is standard output.
    pub access_log: Option<PathBuf>,
}

/// A server that listens and does not serve yet.
pub struct Server {
    options: Options,
    shared: Arc<Shared>,
    reserved: Vec<(u16, Reserved)>,
}

/// Replaces the plan of a server that runs.
#[derive(Clone)]
pub struct Reloader {
    shared: Arc<Shared>,
}

impl Server {
    /// Takes the addresses and opens the log.
    ///
    /// # Errors
    /// When an address cannot be listened on, or the log cannot be opened.
    pub fn new(options: Options) -> Result<Self, ServeError> {
        let mut addresses: Vec<(u16, SocketAddr)> = Vec::new();
        for (number, listener) in (0..).zip(&options.plan.listeners) {
            for address in &listener.addresses {
                let known = addresses.iter().find(|(_, known)| known == address && known.port() != 0);
                match known {
                    None => addresses.push((number, *address)),
                    Some((other, _)) if *other == number => {}
                    Some(_) => return Err(ServeError::DuplicateAddress(*address)),
                }
            }
        }
        let (numbers, addresses): (Vec<u16>, Vec<_>) = addresses.into_iter().unzip();
        let reserved = listen::reserve(&addresses, options.workers.len() > 1)?;
        let log = options
            .access_log
            .as_deref()
            .map(|path| access_log::Log::open(path).map_err(|error| ServeError::Log(path.to_owned(), error)));
        let (settings, plan) = (options.settings.clone(), options.plan.clone());
        let shared = Shared::new(settings, plan, options.workers.len(), log.transpose()?);
        Ok(Self { options, shared: Arc::new(shared), reserved: numbers.into_iter().zip(reserved).collect() })
    }

    /// For whoever is to replace the plan while the server runs.
    pub fn reloader(&self) -> Reloader {
        Reloader { shared: self.shared.clone() }
    }

    /// Serves until `stop` is raised; then idle connections are closed at once, requests under way are answered within the
    /// grace time, and what is left is closed.
    ///
    /// # Errors
    /// When a worker cannot be set up.
    pub fn run(self, stop: &CancellationToken, notices: &mpsc::Sender<Notice>) -> Result<Counts, ServeError> {
        let left = match self.options.model {
            Model::Uring => native::run(&self, BackendKind::Uring, stop, notices),
            Model::Epoll => native::run(&self, BackendKind::Epoll, stop, notices),
            Model::Tokio => tokio::run(&self, stop, notices),
        };
        self.shared.close_log();
        let metrics = &self.shared.metrics;
        Ok(Counts {
            accepted: metrics.sum(|worker| worker.accepted.get()),
            failed: metrics.sum(|worker| worker.failed.get()),
            cut: left?,
        })
    }

    /// A worker's listeners, each with the number of those of the plan.
    fn listeners(&self) -> Result<Vec<(u16, TcpListener)>, ServeError> {
        self.reserved.iter().map(|(number, reserved)| Ok((*number, reserved.listener()?))).collect()
    }

    fn notice(&self, backend: String) -> Notice {
        Notice::Listening { addresses: self.reserved.iter().map(|(_, reserved)| reserved.address).collect(), backend }
    }
}

impl Reloader {
    /// Serves this plan from the next requests on; connections stay, and so do requests under way.
    ///
    /// # Errors
    /// When it has other listeners than the plan in use: the old one stays, and the text says why.
    pub fn replace(&self, plan: Plan) -> Result<(), String> {
        self.shared.replace(plan)
    }
}
