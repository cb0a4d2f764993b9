//! What parent and mates tell each other. Both are the same program, so nothing here has versions.

use crate::{Counts, Notice, Options, Service, TcpModel};
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, time::Duration};

/// From the parent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// What to serve; first of all.
    Serve(Task),
    /// A listening socket, which comes with it, for this address.
    Listener { address: SocketAddr, only_v6: bool },
    /// It has all listeners, and serves.
    Go,
    /// No more connections are accepted, and those there are come to their ends.
    Stop,
}

/// A mate's part.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    pub service: Service,
    /// By its word.
    pub model: String,
    pub workers: Vec<Option<usize>>,
    pub grace: Duration,
    pub spin: Duration,
    pub spin_connections: u32,
    pub pool: Option<usize>,
}

impl Task {
    /// The part of a mate with these workers, on this model.
    pub fn new(options: &Options, model: TcpModel, workers: &[Option<usize>]) -> Self {
        Self {
            service: options.service,
            model: model.to_string(),
            workers: workers.to_vec(),
            grace: options.grace,
            spin: options.spin.most,
            spin_connections: options.spin.connections,
            pool: options.pool,
        }
    }
}

/// From a mate.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// It has been started and waits for its part.
    Here,
    /// What it tells whoever started it: that all its workers listen, before all else.
    Notice(Notice),
    /// It cannot serve, and why.
    Failed(String),
    /// All is over.
    Done(Counts),
}
