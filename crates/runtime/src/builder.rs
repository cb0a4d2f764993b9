//! `Runtime` and how one is built.

use crate::{
    driver::BackendKind,
    driver::uring::{self, RingFeature},
    executor::Worker,
    executor::spin::Spinning,
    metrics::MetricsHandle,
    timer::clock::Clock,
    trace::event,
};
use std::{future::Future, io, rc::Rc, time::Duration};

/// A thread's runtime. It stays on the thread that built it, and everything spawned on it does too.
///
/// Dropping it drops all tasks, waits until the kernel has given back every buffer, and closes every connection.
#[derive(Debug)]
pub struct Runtime {
    worker: Rc<Worker>,
    fallback: Option<String>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Runtime {
    /// Choices, all with good defaults.
    pub fn builder() -> Builder {
        Builder { backend: None, spin: Spinning::default(), virtual_clock: false }
    }

    /// A runtime with the best backend of this machine.
    pub fn new() -> io::Result<Self> {
        Self::builder().build()
    }

    /// Runs `future`, and every spawned task beside it, until `future` is done. Tasks left over wait for the next call.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.worker.block_on(future)
    }

    /// Which backend it stands on.
    pub fn backend(&self) -> BackendKind {
        self.worker.io().backend()
    }

    /// The optional features of io_uring that it found, and those that it did not; none on epoll. The environment variable
    /// `BRUNT_RING` leaves some out: their names with commas between them, or `plain` for all.
    pub fn ring_features(&self) -> Vec<RingFeature> {
        self.worker.io().rungs()
    }

    /// Its counters, for any thread to read at any time.
    pub fn metrics_handle(&self) -> MetricsHandle {
        self.worker.metrics_handle()
    }

    /// Why it does not stand on io_uring; `None` if it does.
    pub fn fallback_reason(&self) -> Option<&str> {
        self.fallback.as_deref()
    }
}

/// Choices for a [`Runtime`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until build()"]
pub struct Builder {
    backend: Option<BackendKind>,
    spin: Spinning,
    virtual_clock: bool,
}

impl Builder {
    /// Forces a backend. Without it the environment variable `BRUNT_BACKEND` (`uring` or `epoll`) decides, and without
    /// that io_uring is tried and epoll is the fallback.
    pub fn backend(mut self, backend: Option<BackendKind>) -> Self {
        self.backend = backend;
        self
    }

    /// The longest look for work before a sleep (default 50 us; zero: none). It saves the peer the time it takes to wake
    /// a core, burns the core meanwhile, and becomes rare while it does not pay. Never with a virtual clock.
    pub fn spin(mut self, most: Duration) -> Self {
        self.spin.most = most;
        self
    }

    /// It spins only while at most so many connections talk (default 2; from 64 on, however many). More of them keep a
    /// core awake by themselves when there is much to do, and when there is little a spin for many burns a core for long.
    pub fn spin_connections(mut self, most: u32) -> Self {
        self.spin.connections = most;
        self
    }

    /// Gives the runtime a clock for tests: [`time::now`](crate::time::now) stands still as long as anything is ready,
    /// and when nothing is it jumps to the next deadline, so that an hour passes in no time.
    /// [`time::advance`](crate::time::advance) moves it by hand.
    ///
    /// The kernel and other threads, those of [`spawn_blocking`](crate::spawn_blocking) too, live in real time. While sockets are open,
    /// the clock waits one real millisecond for them before it jumps: a peer that takes longer, or another thread that is
    /// to wake a task, looks as if it had been silent until the next deadline. Without any deadline the runtime sleeps as
    /// usual.
    pub fn virtual_clock(mut self, on: bool) -> Self {
        self.virtual_clock = on;
        self
    }

    /// Builds the runtime on this thread.
    pub fn build(self) -> io::Result<Runtime> {
        let wanted = match self.backend {
            Some(backend) => Some(backend),
            None => from_environment(std::env::var("BRUNT_BACKEND").ok().as_deref())?,
        };
        uring::check_environment()?;
        // What stands still cannot be waited for.
        let most = if self.virtual_clock { Duration::ZERO } else { self.spin.most };
        let spin = Spinning { most, ..self.spin };
        let (worker, fallback) = Worker::new(wanted, spin, Clock::new(self.virtual_clock))?;
        let runtime = Runtime { worker, fallback };
        event!(INFO, "a worker begins"; worker = runtime.worker.id(), backend = runtime.backend());
        if let Some(why) = runtime.fallback_reason().filter(|_| wanted.is_none()) {
            event!(WARN, "no io_uring here"; worker = runtime.worker.id(), why = why);
        }
        Ok(runtime)
    }
}

fn from_environment(value: Option<&str>) -> io::Result<Option<BackendKind>> {
    match value {
        None | Some("") => Ok(None),
        Some("uring") => Ok(Some(BackendKind::Uring)),
        Some("epoll") => Ok(Some(BackendKind::Epoll)),
        Some(other) => {
            let message = format!("BRUNT_BACKEND is '{other}'; set it to uring or epoll, or unset it");
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }
}
