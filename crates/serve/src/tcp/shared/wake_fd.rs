//! Waking an event loop from other threads, and ending it.

use brunt_runtime::CancellationToken;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{read, write};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};
use std::{io, pin::Pin, sync::Arc};

/// An eventfd: readable from [`notify`](Self::notify) until [`drain`](Self::drain).
pub(crate) struct WakeFd(OwnedFd);

impl WakeFd {
    pub fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)))
    }

    /// Fails only if it is readable already.
    pub fn notify(&self) {
        let _ = write(&self.0, &1u64.to_ne_bytes());
    }

    pub fn drain(&self) {
        let _ = read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for WakeFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Wake for WakeFd {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

/// Ends an event loop: the stop wakes it, then clients have the grace time.
pub(crate) struct Shutdown<'a> {
    stop: &'a CancellationToken,
    grace: Duration,
    deadline: Option<Instant>,
    /// Registers the wake-up while alive.
    _raised: Pin<Box<dyn Future<Output = ()> + 'a>>,
}

impl<'a> Shutdown<'a> {
    pub fn new(stop: &'a CancellationToken, grace: Duration, wake_fd: &Arc<WakeFd>) -> Self {
        let mut raised: Pin<Box<dyn Future<Output = ()>>> = Box::pin(stop.cancelled());
        // If already cancelled there is no wake-up; `has_begun` sees it.
        let _ = raised.as_mut().poll(&mut Context::from_waker(&Waker::from(wake_fd.clone())));
        Self { stop, grace, deadline: None, _raised: raised }
    }

    /// Whether to stop accepting. The first call after the stop begins the grace time.
    pub fn has_begun(&mut self) -> bool {
        if self.deadline.is_none() && self.stop.is_cancelled() {
            self.deadline = Some(Instant::now() + self.grace);
        }
        self.deadline.is_some()
    }

    /// Whether the grace time is over.
    pub fn is_over(&mut self) -> bool {
        self.has_begun() && self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}
