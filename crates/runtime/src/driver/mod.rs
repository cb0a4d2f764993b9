//! The one place that knows that there are two backends.

pub(crate) mod epoll;
pub(crate) mod uring;
pub(crate) mod user_data;

#[cfg(test)]
use crate::sim::Ring as Uring;
use crate::{buffers::recv::Buffers, metrics::Metrics};
use epoll::Epoll;
use std::{fmt, io, time::Duration};
#[cfg(not(test))]
use uring::Uring;

/// Which mechanism of the kernel a runtime stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendKind {
    /// io_uring with deferred task work, multishot requests and provided buffers (Linux 6.1 and later).
    Uring,
    /// Level-triggered epoll (any Linux).
    Epoll,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uring => "io_uring",
            Self::Epoll => "epoll",
        })
    }
}

/// What became of opening something that is opened at first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opened {
    Now,
    Before,
    Refused,
}

#[expect(clippy::large_enum_variant, reason = "a worker has one driver, and a box would cost a step an event")]
pub(crate) enum Driver {
    Uring(Uring),
    Epoll(Epoll),
}

impl Driver {
    /// Sets up the wanted backend, or the best one there is; the second value says why it is not io_uring.
    pub fn new(wanted: Option<BackendKind>) -> io::Result<(Self, Option<String>)> {
        match wanted {
            Some(BackendKind::Uring) => Uring::new().map(|uring| (Self::Uring(uring), None)).map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("io_uring was asked for and is not available: {}", explain(&error)),
                )
            }),
            Some(BackendKind::Epoll) => Ok((Self::Epoll(Epoll::new()?), Some("epoll was asked for".to_owned()))),
            None => match Uring::new() {
                Ok(uring) => Ok((Self::Uring(uring), None)),
                Err(error) => Ok((Self::Epoll(Epoll::new()?), Some(explain(&error)))),
            },
        }
    }

    pub fn kind(&self) -> BackendKind {
        match self {
            Self::Uring(_) => BackendKind::Uring,
            Self::Epoll(_) => BackendKind::Epoll,
        }
    }

    /// Makes a receive buffer available again.
    #[inline]
    pub fn give(&mut self, buffers: &Buffers, buffer: u16) {
        match self {
            Self::Uring(uring) => uring.give(buffers, buffer),
            Self::Epoll(epoll) => epoll.free_buffers.push(buffer),
        }
    }

    /// How many buffers have ever been given, modulo 2^16. Epoll needs no count: it looks for a buffer when it has one to
    /// fill, and knows.
    pub fn given(&self) -> u16 {
        match self {
            Self::Uring(uring) => uring.given(),
            Self::Epoll(_) => 0,
        }
    }

    /// Makes a large receive buffer available again.
    pub fn give_large(&mut self, buffers: &Buffers, buffer: u16) {
        match self {
            Self::Uring(uring) => uring.give_large(buffers, buffer),
            Self::Epoll(epoll) => epoll.free_large.push(buffer),
        }
    }

    /// Makes ready to receive into large buffers, at first use; false if the kernel refuses.
    pub fn open_large(&mut self, buffers: &mut Buffers) -> bool {
        let opened = match self {
            Self::Uring(uring) => uring.open_large(),
            Self::Epoll(epoll) => epoll.open_large(),
        };
        if opened == Opened::Now {
            self.give_more_large(buffers);
        }
        opened != Opened::Refused
    }

    /// Makes large buffers available that were never used before; false at the cap.
    pub fn give_more_large(&mut self, buffers: &mut Buffers) -> bool {
        let more = buffers.more_large();
        let any = more.len() > 0;
        more.for_each(|buffer| self.give_large(buffers, buffer));
        any
    }

    /// Submits what is queued and waits for events.
    #[inline]
    pub fn wait(&mut self, timeout: Option<Duration>, metrics: &mut Metrics) {
        match self {
            Self::Uring(uring) => uring.wait(timeout, metrics),
            Self::Epoll(epoll) => epoll.wait(timeout, metrics),
        }
    }
}

/// An errno of `io_uring_setup` in words an operator can act on.
fn explain(error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::EPERM) => "forbidden here (a container's seccomp profile, or sysctl kernel.io_uring_disabled)",
        Some(libc::ENOSYS) => "not in this kernel",
        Some(libc::EINVAL) => "older than what Linux 6.1 brought",
        Some(libc::ENOMEM) => "out of locked memory (ulimit -l)",
        _ => return error.to_string(),
    };
    format!("{why}: {error}")
}
