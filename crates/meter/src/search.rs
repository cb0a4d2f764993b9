//! Looks for what stands behind a server while it has load, on a thread of its own.

pub use crate::service::Found;
use crate::service::{Scope, Service};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// From one look to the next: connections that are opened for each request are there for moments.
const EVERY: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Search {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Found>>,
}

impl Search {
    /// `server`: the processes of the listener.
    pub fn begin(server: Vec<u32>, scope: Scope) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let search = move || {
            let Ok(mut service) = Service::new(scope) else { return Found::default() };
            loop {
                // The last look is one after the load: pooled connections are still there.
                let is_last = stopped.load(Ordering::Relaxed);
                service.look_now(&server);
                if is_last {
                    return service.found();
                }
                thread::park_timeout(EVERY);
            }
        };
        // Without a thread nothing is found.
        let thread = thread::Builder::new().name("brunt-search".to_owned()).spawn(search).ok();
        Self { stop, thread }
    }

    pub fn end(mut self) -> Found {
        self.finish()
    }

    fn finish(&mut self) -> Found {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return Found::default() };
        thread.thread().unpark();
        thread.join().unwrap_or_default()
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.finish();
    }
}
