//! State shared by the workers of a server: the plan, which can be replaced at runtime, the metrics and the access log.

use super::access_log::{AccessLog, LogBuffer};
use super::config::Plan;
use super::config::settings::Settings;
use super::metrics::Metrics;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

pub(crate) struct Shared {
    pub settings: Settings,
    pub metrics: Arc<Metrics>,
    pub started: Instant,
    pub log: Option<Mutex<Option<AccessLog>>>,
    version: AtomicU64,
    plan: Mutex<Arc<Plan>>,
}

impl Shared {
    pub fn new(settings: Settings, plan: Plan, workers: usize, log: Option<AccessLog>) -> Self {
        let names = plan.listeners.iter().map(|listener| listener.name.clone()).collect();
        Self {
            settings,
            metrics: Arc::new(Metrics::new(names, workers)),
            started: Instant::now(),
            log: log.map(|log| Mutex::new(Some(log))),
            version: AtomicU64::new(0),
            plan: Mutex::new(Arc::new(plan)),
        }
    }

    pub fn plan(&self) -> (u64, Arc<Plan>) {
        let plan = lock(&self.plan);
        (self.version.load(Ordering::Relaxed), plan.clone())
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
        self.version.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// A log buffer for one worker, if requests are logged.
    pub fn log_buffer(&self) -> Option<LogBuffer> {
        lock(self.log.as_ref()?).as_ref().map(AccessLog::buffer)
    }

    /// Closes the log; all workers must have ended.
    pub fn close_log(&self) {
        if let Some(log) = self.log.as_ref().and_then(|log| lock(log).take()) {
            log.close();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
