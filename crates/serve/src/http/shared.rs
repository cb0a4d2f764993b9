//! What the workers of a server share: options, addresses, the plan, which can be replaced at runtime, metrics, access log.

use super::access_log::{AccessLog, LogBuffer};
use super::config::{Plan, Settings};
use super::metrics::Metrics;
use crate::{Model, Notice, ServeError, listen::Reserved, lock};
use brunt_runtime::{Spinning, time};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{net::TcpListener, path::PathBuf};

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

pub(crate) struct Shared {
    pub settings: Settings,
    pub metrics: Arc<Metrics>,
    pub started: Instant,
    log: Mutex<Option<AccessLog>>,
    plan: Mutex<Arc<Plan>>,
}

impl Shared {
    pub fn new(settings: Settings, plan: Plan, workers: usize, log: Option<AccessLog>) -> Self {
        let names = plan.listeners.iter().map(|listener| listener.name.clone()).collect();
        Self {
            settings,
            metrics: Arc::new(Metrics::new(names, workers)),
            started: time::now(),
            log: Mutex::new(log),
            plan: Mutex::new(Arc::new(plan)),
        }
    }

    pub fn plan(&self) -> Arc<Plan> {
        lock(&self.plan).clone()
    }

    /// Replaces the plan; workers pick it up within a tick. Listeners cannot change.
    pub fn replace(&self, plan: Plan) -> Result<(), String> {
        let mut current = lock(&self.plan);
        let listeners = |plan: &Plan| -> Vec<_> {
            plan.listeners.iter().map(|listener| (listener.name.clone(), listener.addresses.clone())).collect()
        };
        if listeners(&plan) != listeners(&current) {
            return Err(
                "its listeners differ from those at the start: restart the server to change listeners".to_owned()
            );
        }
        *current = Arc::new(plan);
        Ok(())
    }

    /// A log buffer for one worker, if requests are logged.
    pub fn log_buffer(&self) -> Option<LogBuffer> {
        lock(&self.log).as_ref().map(AccessLog::buffer)
    }

    /// Closes the log; all workers must have ended.
    pub fn close_log(&self) {
        if let Some(log) = lock(&self.log).take() {
            log.close();
        }
    }
}
