//! What the workers of a server share across threads: the plan, which can be replaced while they run, and the counts.

use super::{
    access_log::{Lines, Log},
    config::Plan,
    config::settings::Settings,
    metrics::Metrics,
};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

pub(crate) struct Shared {
    pub settings: Settings,
    pub metrics: Arc<Metrics>,
    pub started: Instant,
    pub log: Option<Mutex<Option<Log>>>,
    version: AtomicU64,
    plan: Mutex<Arc<Plan>>,
}

impl Shared {
    pub fn new(settings: Settings, plan: Plan, workers: usize, log: Option<Log>) -> Self {
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

    /// The plan, and a number that changes with it.
    pub fn plan(&self) -> (u64, Arc<Plan>) {
        let plan = lock(&self.plan);
        (self.version.load(Ordering::Relaxed), plan.clone())
    }

    /// Puts another plan in its place, which the workers look at within a tick. Listening sockets cannot change.
    pub fn replace(&self, plan: Plan) -> Result<(), String> {
        let mut current = lock(&self.plan);
        let listeners = |plan: &Plan| -> Vec<_> {
            plan.listeners.iter().map(|listener| (listener.name.clone(), listener.addresses.clone())).collect()
        };
        if listeners(&plan) != listeners(&current) {
            return Err("its listeners or their names are others than at the start, which takes a restart".to_owned());
        }
        *current = Arc::new(plan);
        self.version.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// For a worker to log with, if there is a log.
    pub fn lines(&self) -> Option<Lines> {
        lock(self.log.as_ref()?).as_ref().map(Log::lines)
    }

    /// Closes the log, after all workers have ended.
    pub fn close_log(&self) {
        if let Some(log) = self.log.as_ref().and_then(|log| lock(log).take()) {
            log.close();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
