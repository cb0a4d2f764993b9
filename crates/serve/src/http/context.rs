//! What a server model needs to run the workers of a server.

use super::config::{Plan, Settings};
use super::shared::Shared;
use crate::{Model, Notice, ServeError, listen::Reserved};
use brunt_runtime::Spinning;
use std::{net::TcpListener, path::PathBuf, sync::Arc, time::Duration};

#[derive(Debug, Clone)]
pub struct Options {
    pub plan: Plan,
    pub model: Model,
    /// One worker per entry, pinned to that core; `None` leaves the thread to the scheduler.
    pub workers: Vec<Option<usize>>,
    /// Time for requests in progress after the stop.
    pub grace: Duration,
    /// How long a worker polls before it sleeps.
    pub spin: Spinning,
    pub settings: Settings,
    /// File that gets a line per request; `-` is standard output.
    pub access_log: Option<PathBuf>,
}

pub(crate) struct ServerContext {
    pub options: Options,
    pub shared: Arc<Shared>,
    /// Addresses, each with the number of its listener in the plan.
    pub reserved: Vec<(u16, Reserved)>,
}

impl ServerContext {
    /// One worker's listeners, each with the number of its listener in the plan.
    pub fn listeners(&self) -> Result<Vec<(u16, TcpListener)>, ServeError> {
        self.reserved.iter().map(|(number, reserved)| Ok((*number, reserved.listener()?))).collect()
    }

    pub fn listening(&self, backend: String) -> Notice {
        let addresses = self.reserved.iter().map(|(_, reserved)| reserved.address.into()).collect();
        Notice::Listening { addresses, backend }
    }
}
