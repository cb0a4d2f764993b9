//! `Runtime` and its builder.

use crate::driver::BackendKind;
use crate::driver::uring::{Features, RingFeature};
use crate::executor::spin::Spinning;
use crate::executor::{Owned, Worker};
use crate::io::LINGER;
use crate::metrics::MetricsHandle;
use crate::named::named;
use crate::sys;
use crate::timer::Clock;
use crate::trace::event;
use std::{future::Future, io, time::Duration};

/// A thread's runtime. It and everything spawned on it stay on the thread that built it.
///
/// Dropping it drops all tasks, waits for the last completion of every request, and closes every connection.
#[derive(Debug)]
pub struct Runtime {
    worker: Owned,
    fallback: Option<String>,
}

impl Runtime {
    /// Returns a builder with the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Builds a runtime with default settings: on io_uring if available, else on epoll.
    ///
    /// # Errors
    /// See [`Builder::build`].
    pub fn new() -> io::Result<Self> {
        Self::builder().build()
    }

    /// Runs `future`, and all spawned tasks, until `future` is done. Other tasks continue at the next call.
    ///
    /// # Panics
    /// Inside another `block_on` of the same runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        #[cfg(any(test, feature = "sim"))]
        {
            let machine = self.worker.io().world();
            if let Some(machine) = machine {
                return crate::sim::drive::block_on(&self.worker, &machine, future);
            }
        }
        self.worker.block_on(future)
    }

    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn worker(&self) -> &Worker {
        &self.worker
    }

    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn into_worker(self) -> Owned {
        self.worker
    }

    /// The backend in use.
    pub fn backend(&self) -> BackendKind {
        self.worker.io().backend()
    }

    /// The optional features of io_uring, used or missing; none on epoll.
    pub fn ring_features(&self) -> Vec<RingFeature> {
        self.worker.io().features()
    }

    /// Returns a handle to the counters, which any thread may read at any time.
    pub fn metrics_handle(&self) -> MetricsHandle {
        self.worker.metrics_handle()
    }

    /// Why the backend is not io_uring; `None` if it is.
    pub fn fallback_reason(&self) -> Option<&str> {
        self.fallback.as_deref()
    }
}

/// Settings of a [`Runtime`].
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until build()"]
pub struct Builder {
    backend: Option<BackendKind>,
    spin: Spinning,
    virtual_clock: bool,
    features: Features,
    env_prefix: Option<&'static str>,
    close_timeout: Option<Duration>,
    end_timeout: Option<Duration>,
}

impl Builder {
    /// Sets the backend. By default (`None`) io_uring is tried, and epoll is the fallback.
    pub fn backend(mut self, backend: Option<BackendKind>) -> Self {
        self.backend = backend;
        self
    }

    /// Leaves out optional features of io_uring: names as in [`RingFeature::name`] separated by commas, or `plain` for all.
    /// For testing a machine as if its kernel were older.
    ///
    /// # Errors
    /// An unknown name; the message lists the known ones.
    pub fn without_ring_features(mut self, names: &str) -> io::Result<Self> {
        self.features = Features::without(names, "the list of ring features")?;
        Ok(self)
    }

    /// Lets environment variables choose: `PREFIX_BACKEND` (`uring` or `epoll`), unless a backend is set here, and
    /// `PREFIX_RING` as [`without_ring_features`]. [`build`](Self::build) reads them; by default it reads none.
    ///
    /// [`without_ring_features`]: Self::without_ring_features
    pub fn env_prefix(mut self, prefix: &'static str) -> Self {
        self.env_prefix = Some(prefix);
        self
    }

    /// Sets the longest spin before a sleep (default 50 us, zero for none). Spinning saves the time it takes to wake a core,
    /// keeps the core busy meanwhile, and becomes rare while it does not pay. Never with a virtual clock.
    pub fn spin(mut self, most: Duration) -> Self {
        self.spin.most = most;
        self
    }

    /// Sets the largest number of active connections with which the worker spins (default 2; 64 or more: any number). More
    /// connections keep a core awake by themselves under load; at low load, spinning for many occupies the core for long.
    pub fn spin_connections(mut self, most: u32) -> Self {
        self.spin.connections = most;
        self
    }

    /// Sets within what time the peer of a stream that was dropped has to take some of what was written (default 5 s). As long as it
    /// does, the stream goes on sending; else the peer gets a reset: it cannot take the end of what it received for the end of what
    /// was sent. A runtime that ends goes on sending too, and its end waits for that: [`end_timeout`](Self::end_timeout).
    pub fn close_timeout(mut self, most: Duration) -> Self {
        self.close_timeout = Some(most);
        self
    }

    /// Sets how long the end of the runtime waits, at most, until the kernel has taken what was written to its streams (by default as
    /// long as [`close_timeout`](Self::close_timeout)); peers that read too little by then get a reset.
    pub fn end_timeout(mut self, most: Duration) -> Self {
        self.end_timeout = Some(most);
        self
    }

    /// Uses a virtual clock, for tests: [`time::now`](crate::time::now) stands still while anything is ready, and jumps to the
    /// next deadline when nothing is. [`time::advance`](crate::time::advance) moves it.
    ///
    /// The kernel and other threads run in real time. While sockets are open, the clock waits one real millisecond for them
    /// before it jumps; a slower peer appears silent until the next deadline. For work on the blocking pool, lookups and operations
    /// of files it waits until they have ended. Without a deadline the runtime sleeps.
    pub fn virtual_clock(mut self, on: bool) -> Self {
        self.virtual_clock = on;
        self
    }

    /// Builds the runtime on this thread.
    ///
    /// # Errors
    /// The backend that was set is not available, descriptors or memory have run out, or an environment variable (see
    /// [`env_prefix`](Self::env_prefix)) has an invalid value.
    pub fn build(self) -> io::Result<Runtime> {
        let (wanted, features) = self.environment()?;
        // A virtual clock does not move during a spin.
        let most = if self.virtual_clock || sys::is_simulated() { Duration::ZERO } else { self.spin.most };
        let spin = Spinning { most, ..self.spin };
        let worker = Worker::new(wanted, features, spin, Clock::new(self.virtual_clock));
        let (worker, fallback) = worker.map_err(|error| named("cannot set up a runtime", error))?;
        let linger = self.close_timeout.unwrap_or(LINGER);
        worker.io().set_timeouts(linger, self.end_timeout.unwrap_or(linger));
        let runtime = Runtime { worker: Owned::new(worker), fallback };
        event!(INFO, "a worker begins"; worker = runtime.worker.id(), backend = runtime.backend());
        if let Some(why) = runtime.fallback_reason().filter(|_| wanted.is_none()) {
            event!(WARN, "no io_uring here"; worker = runtime.worker.id(), why = why);
        }
        Ok(runtime)
    }

    /// The backend and the ring features, with the user's choices from the environment.
    fn environment(&self) -> io::Result<(Option<BackendKind>, Features)> {
        let Some(prefix) = self.env_prefix else { return Ok((self.backend, self.features.clone())) };
        let read = |name: &str| {
            let variable = format!("{prefix}_{name}");
            std::env::var(&variable).ok().map(|value| (variable, value))
        };
        let backend = match (self.backend, read("BACKEND")) {
            (None, Some((variable, value))) => match value.as_str() {
                "" => None,
                "uring" => Some(BackendKind::Uring),
                "epoll" => Some(BackendKind::Epoll),
                other => {
                    let message = format!("{variable} is '{other}'; set it to uring or epoll, or unset it");
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
                }
            },
            (backend, _) => backend,
        };
        let features = match read("RING") {
            Some((variable, names)) => Features::without(&names, &variable)?,
            None => self.features.clone(),
        };
        Ok((backend, features))
    }
}
