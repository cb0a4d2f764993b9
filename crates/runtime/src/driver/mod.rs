//! The backend of a worker: io_uring or epoll.

pub(crate) mod epoll;
#[cfg(any(test, feature = "sim"))]
pub(crate) mod ring;
pub(crate) mod uring;
pub(crate) mod user_data;

use crate::{buffers::recv::RecvBuffers, metrics::Metrics, named::named};
use epoll::Epoll;
#[cfg(any(test, feature = "sim"))]
use ring::Ring as Uring;
use std::{fmt, io, time::Duration};
use uring::Features;
#[cfg(not(any(test, feature = "sim")))]
use uring::Uring;

/// The kernel interface that a runtime uses.
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

#[expect(clippy::large_enum_variant, reason = "a worker has one driver, and a box would cost a step an event")]
pub(crate) enum Driver {
    Uring(Uring),
    Epoll(Epoll),
}

impl Driver {
    /// Sets up the wanted backend, or io_uring with epoll as the fallback. The second value says why it is not io_uring.
    pub fn new(wanted: Option<BackendKind>, features: Features) -> io::Result<(Self, Option<String>)> {
        let reason = match wanted {
            Some(BackendKind::Epoll) if !crate::sys::is_simulated() => "epoll was asked for".to_owned(),
            _ => match Uring::new(features) {
                Ok(uring) => return Ok((Self::Uring(uring), None)),
                Err(error) if wanted.is_some() => {
                    let what = "io_uring was asked for and is not available";
                    let what = cause(&error).map_or(what.to_owned(), |cause| format!("{what}: {cause}"));
                    return Err(named(what, error));
                }
                Err(error) => cause(&error).map_or(error.to_string(), |cause| format!("{cause}: {error}")),
            },
        };
        Ok((Self::Epoll(Epoll::new()?), Some(reason)))
    }

    /// Whether sockets are those of a scripted ring, which sends through requests only.
    #[inline]
    pub fn is_scripted(&self) -> bool {
        #[cfg(test)]
        return matches!(self, Self::Uring(Uring::Scripted(_)));
        #[cfg(not(test))]
        false
    }

    /// The ring of this machine's kernel, which takes requests of every kind.
    pub fn real_ring(&mut self) -> Option<&mut Uring> {
        match self {
            #[cfg(any(test, feature = "sim"))]
            Self::Uring(ring) if !ring.is_real() => None,
            Self::Uring(ring) => Some(ring),
            Self::Epoll(_) => None,
        }
    }

    pub fn kind(&self) -> BackendKind {
        match self {
            Self::Uring(_) => BackendKind::Uring,
            Self::Epoll(_) => BackendKind::Epoll,
        }
    }

    /// Provides a receive buffer of the usual size to the kernel.
    ///
    /// # Safety
    /// The buffer is free: nothing else refers to its memory until a completion names it.
    #[inline(always)]
    pub unsafe fn provide(&mut self, buffers: &RecvBuffers, buffer: u16) {
        match self {
            // SAFETY: as demanded of the caller.
            Self::Uring(uring) => unsafe { uring.provide(buffers.address(buffer), buffer) },
            Self::Epoll(epoll) => epoll.free_buffers.push(buffer),
        }
    }

    #[inline]
    pub fn wait(&mut self, timeout: Option<Duration>, metrics: &mut Metrics) {
        match self {
            Self::Uring(uring) => uring.wait(timeout, metrics),
            Self::Epoll(epoll) => epoll.wait(timeout, metrics),
        }
    }
}

/// What an errno of `io_uring_setup` stands for, with the setting that causes it.
fn cause(error: &io::Error) -> Option<&'static str> {
    Some(match error.raw_os_error()? {
        libc::EPERM => "forbidden here (a container's seccomp profile, or sysctl kernel.io_uring_disabled)",
        libc::ENOSYS => "not in this kernel",
        libc::EINVAL => "older than what Linux 6.1 brought",
        libc::ENOMEM => "out of locked memory (ulimit -l)",
        _ => return None,
    })
}
