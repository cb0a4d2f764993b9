//! The server as its user sees it: options, listening, running, reloading.

use super::access_log::AccessLog;
use super::config::Plan;
use super::shared::{Options, ServerContext, Shared};
use super::{native, tokio};
use crate::{Counts, Model, Notice, ServeError, listen};
use brunt_runtime::{BackendKind, CancellationToken};
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};

/// A server that listens but does not serve yet.
pub struct Server(ServerContext);

/// Replaces the plan of a running server.
#[derive(Clone)]
pub struct Reloader(Arc<Shared>);

impl Server {
    /// Binds the addresses and opens the access log.
    ///
    /// # Errors
    /// If an address cannot be listened on, or the log cannot be opened.
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
        let open = |path| AccessLog::open(path).map_err(|error| ServeError::Log(path.to_owned(), error));
        let log = options.access_log.as_deref().map(open).transpose()?;
        let shared = Shared::new(options.settings.clone(), options.plan.clone(), options.workers.len(), log);
        let reserved = numbers.into_iter().zip(reserved).collect();
        Ok(Self(ServerContext { options, shared: Arc::new(shared), reserved }))
    }

    pub fn reloader(&self) -> Reloader {
        Reloader(self.0.shared.clone())
    }

    /// Serves until `stop` is cancelled. Then idle connections close at once, requests in progress are answered within the
    /// grace time, and remaining connections are closed.
    ///
    /// # Errors
    /// If a worker cannot be set up.
    pub fn run(self, stop: &CancellationToken, notices: &mpsc::Sender<Notice>) -> Result<Counts, ServeError> {
        let left = match self.0.options.model {
            Model::Uring => native::run(&self.0, BackendKind::Uring, stop, notices),
            Model::Epoll => native::run(&self.0, BackendKind::Epoll, stop, notices),
            Model::Tokio => tokio::run(&self.0, stop, notices),
        };
        self.counts(left)
    }

    /// As [`run`](Self::run), on workers of the simulated world of this thread, whatever the model and the cores. There must be
    /// no access log: it has a thread.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As a worker did.
    #[cfg(feature = "sim")]
    pub async fn run_in_world(
        self,
        stop: &CancellationToken,
        notices: &mpsc::Sender<Notice>,
    ) -> Result<Counts, ServeError> {
        let left = native::run_in_world(&self.0, stop, notices).await;
        self.counts(left)
    }

    /// Ends the log. `left` are the connections that were closed.
    fn counts(self, left: Result<u64, ServeError>) -> Result<Counts, ServeError> {
        self.0.shared.close_log();
        let metrics = &self.0.shared.metrics;
        Ok(Counts {
            accepted: metrics.sum(|worker| worker.accepted.get()),
            failed: metrics.sum(|worker| worker.failed.get()),
            cut: left?,
        })
    }
}

impl Reloader {
    /// Serves another plan from the next requests on. Connections and requests in progress are kept.
    ///
    /// # Errors
    /// If the listeners differ; the old plan stays.
    pub fn replace(&self, plan: Plan) -> Result<(), String> {
        self.0.replace(plan)
    }
}
