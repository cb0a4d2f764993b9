//! Looks for what stands behind a server while it has load, on a thread of its own.

pub use crate::service::Found;
use crate::service::{LISTINGS, Scope, Service};
use crate::thread_cpu::thread_cpu;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Shortest time of a search.
const ENOUGH: Duration = Duration::from_millis(400);
/// From one look to the next, at least; and at most a tenth of a core.
const EVERY: Duration = Duration::from_millis(1);
const REST: u32 = 9;
/// Looks at Unix sockets alone after each at all sockets, which costs several times as much.
const AT_UNIX_SOCKETS: u32 = 4;

#[derive(Debug)]
pub struct Search {
    server: Vec<u32>,
    began: Instant,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Service>>,
}

impl Search {
    /// `server`: the processes of the listener.
    pub fn begin(server: Vec<u32>, scope: Scope) -> Self {
        Self::of(Service::new(scope, &server).unwrap_or_default(), server)
    }

    /// Goes on with what is known.
    pub(crate) fn of(mut service: Service, server: Vec<u32>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, pids) = (Arc::clone(&stop), server.clone());
        let search = move || {
            let mut looks = (0..=AT_UNIX_SOCKETS).cycle();
            while !stopped.load(Ordering::Relaxed) {
                let begin = thread_cpu();
                match looks.next() {
                    Some(1..) => service.look_at_unix_sockets(&pids),
                    _ => service.look_now(&pids, LISTINGS),
                }
                // Not by the clock: where the machine is busy, a look takes long and costs no more.
                thread::park_timeout(EVERY.max(REST * thread_cpu().saturating_sub(begin)));
            }
            service
        };
        // Without a thread nothing is found.
        let thread = thread::Builder::new().name("brunt-search".to_owned()).spawn(search).ok();
        Self { server, began: Instant::now(), stop, thread }
    }

    /// Looks a last time, after the load: pooled connections are still there.
    pub fn end(mut self) -> Found {
        let mut service = self.finish().unwrap_or_default();
        service.look_now(&self.server, 1);
        service.found()
    }

    /// Whether it has looked often enough: where each request has a connection of its own, not every look meets one.
    pub(crate) fn is_enough(&self) -> bool {
        self.began.elapsed() >= ENOUGH
    }

    /// What is known, to go on with. Waits for a look to end.
    pub(crate) fn hand_over(mut self) -> Option<Service> {
        self.finish()
    }

    fn finish(&mut self) -> Option<Service> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take()?;
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.finish();
    }
}
