//! Messages between parent and workers. Both are the same executable, so they carry no version.

use crate::{Counts, Notice, Options, Service};
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, time::Duration};

/// From the parent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
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
pub struct Task {
    pub service: Service,
    pub model: String,
    pub workers: Vec<Option<usize>>,
    pub grace: Duration,
    pub spin: Duration,
    pub spin_connections: u32,
    pub pool: Option<usize>,
}

impl Task {
    pub fn new(options: &Options, model: &str, workers: &[Option<usize>]) -> Self {
        Self {
            service: options.service,
            model: model.to_owned(),
            workers: workers.to_vec(),
            grace: options.grace,
            spin: options.spin.most,
            spin_connections: options.spin.connections,
            pool: options.pool,
        }
    }
}

/// From a worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// The first one says that all threads of the process listen.
    Notice(Notice),
    /// The process cannot serve.
    Failed(String),
    /// The server has ended.
    Done(Counts),
}
