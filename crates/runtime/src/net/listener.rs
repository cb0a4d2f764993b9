//! `Listener`: accepts connections of either family.

use super::{Family, Stream, socket_file::SocketFile, stream::non_blocking};
use crate::executor;
use crate::io::{Io, closed};
use crate::slab::Key;
use crate::sys;
use crate::time::sleep;
use crate::trace::event;
use socket2::SockRef;
use std::{future::poll_fn, io, marker::PhantomData, os::fd::OwnedFd, task::Poll, time::Duration};

/// Backlog asked of the kernel, which lowers it to net.core.somaxconn.
pub(super) const BACKLOG: i32 = 65_535;
/// Pause of accepting when descriptors or memory have run out.
const EXHAUSTION_PAUSE: Duration = Duration::from_millis(20);

/// A socket that accepts connections: a [`TcpListener`](super::TcpListener) or a [`UnixListener`](super::UnixListener).
/// Must be created and used inside `block_on`.
#[derive(Debug)]
pub struct Listener<F: Family> {
    key: Key,
    worker: u16,
    #[expect(dead_code, reason = "held for its destructor, which removes the file")]
    file: Option<SocketFile>,
    local: PhantomData<(*mut (), F)>,
}

impl<F: Family> Listener<F> {
    pub(super) fn adopt(fd: OwnedFd, file: Option<SocketFile>) -> Self {
        executor::current(|worker| Self {
            key: worker.io().add_listener(fd),
            worker: worker.id(),
            file,
            local: PhantomData,
        })
    }

    /// Adopts a listening socket, but not the file of a Unix socket, which stays. Workers that share a path adopt a clone each.
    pub fn from_std(listener: F::StdListener) -> io::Result<Self> {
        Ok(Self::adopt(non_blocking(listener)?, None))
    }

    /// The local address.
    pub fn local_addr(&self) -> io::Result<F::Addr> {
        executor::with(self.worker, |worker| sys::local_addr(&SockRef::from(&worker.io().listener_fd(self.key)?)))
            .unwrap_or_else(|| Err(closed()))
            .and_then(F::address)
    }

    /// Accepts the next connection. Dropping the future loses none.
    ///
    /// When descriptors or memory run out, accepting pauses for 20 ms and tries again; open connections are served
    /// meanwhile and new ones wait in the kernel's queue.
    pub async fn accept(&self) -> io::Result<Stream<F>> {
        self.accept_fd().await.map(Stream::adopt)
    }

    pub(super) async fn accept_fd(&self) -> io::Result<OwnedFd> {
        let mut paused = false;
        loop {
            let accepted = poll_fn(|cx| {
                executor::with(self.worker, |worker| worker.io().poll_accept(self.key, cx))
                    .unwrap_or_else(|| Poll::Ready(Err(closed())))
            })
            .await;
            match accepted {
                Ok(fd) => {
                    if paused {
                        event!(INFO, "accepting resumes");
                    }
                    return Ok(fd);
                }
                Err(error) if Io::is_exhaustion(&error) => {
                    executor::current(|worker| worker.io().metrics.accept_pauses += 1);
                    if !std::mem::replace(&mut paused, true) {
                        event!(WARN, "accepting pauses: out of descriptors or memory"; error = error);
                    }
                    sleep(EXHAUSTION_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl<F: Family> Drop for Listener<F> {
    fn drop(&mut self) {
        executor::with(self.worker, |worker| worker.io().drop_listener(self.key));
    }
}
