//! State shared by the workers of a server: the plan, which can be replaced at runtime, the metrics and the access log.

use super::access_log::{AccessLog, LogBuffer};
use super::config::{Plan, Settings};
use super::metrics::Metrics;
use crate::lock;
use std::sync::{Arc, Mutex};
use std::time::Instant;

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
            started: Instant::now(),
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
