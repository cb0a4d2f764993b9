//! `Listener`: accepts connections of either family.

use super::{AsyncFd, Family, Stream, socket_file::SocketFile, stream::non_blocking};
use crate::executor;
use crate::named::not_duplicated;
use crate::sys;
use crate::time::sleep;
use crate::trace::event;
use socket2::SockRef;
use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{io, marker::PhantomData, time::Duration};

/// Backlog asked of the kernel, which lowers it to net.core.somaxconn.
pub(super) const BACKLOG: i32 = 65_535;
/// Pause of accepting when descriptors or memory have run out.
const EXHAUSTION_PAUSE: Duration = Duration::from_millis(20);

/// A socket that accepts connections: a [`TcpListener`](super::TcpListener) or a [`UnixListener`](super::UnixListener).
/// Must be created and used inside `block_on`.
///
/// Connections wait in the kernel's queue until [`accept`](Self::accept) takes them: the runtime holds none that was not
/// asked for. Any number of tasks may accept at the same time.
#[derive(Debug)]
pub struct Listener<F: Family> {
    socket: AsyncFd<OwnedFd>,
    /// Removed with it.
    file: Option<SocketFile>,
    /// The descriptor was given by the program, or lent to it since `lingers` was set.
    pub(super) shown: Cell<bool>,
    /// The descriptor has a time of SO_LINGER, which accepted sockets inherit.
    lingers: Cell<bool>,
    family: PhantomData<F>,
}

impl<F: Family> Listener<F> {
    #[track_caller]
    pub(super) fn adopt(fd: OwnedFd, file: Option<SocketFile>) -> Self {
        let [shown, lingers] = [const { Cell::new(false) }; 2];
        Self { socket: AsyncFd::new(fd), file, shown, lingers, family: PhantomData }
    }

    /// Adopts a listening socket, but not the file of a Unix socket, which stays. Workers that share a path adopt a clone each.
    ///
    /// # Errors
    /// `InvalidInput` if it does not listen.
    #[track_caller]
    pub fn from_std(listener: F::StdListener) -> io::Result<Self> {
        let listener = Self::adopt(non_blocking(listener, true)?, None);
        listener.shown.set(true);
        Ok(listener)
    }

    /// Gives the socket back, non-blocking; connections that wait stay in its queue. The file of a Unix socket stays, and is the
    /// caller's to remove.
    pub fn into_std(mut self) -> io::Result<F::StdListener> {
        if let Some(file) = self.file.take() {
            file.leave();
        }
        self.socket.get_ref().try_clone().map(Into::into).map_err(not_duplicated)
    }

    /// The local address.
    pub fn local_addr(&self) -> io::Result<F::Addr> {
        sys::local_addr(&SockRef::from(self.socket.get_ref())).and_then(F::address)
    }

    /// Accepts the next connection. Dropping the future loses none.
    ///
    /// When descriptors or memory run out, accepting pauses for 20 ms and tries again; open connections are served
    /// meanwhile and new ones wait in the kernel's queue. A connection that failed before it was accepted is passed over.
    pub async fn accept(&self) -> io::Result<Stream<F>> {
        self.accept_fd().await.map(|fd| self.accepted(fd))
    }

    /// As [`accept`](Self::accept), with the address of the peer: also that of one which has reset the connection meanwhile, whose
    /// [`peer_addr`](Stream::peer_addr) is gone.
    pub async fn accept_from(&self) -> io::Result<(Stream<F>, F::Addr)> {
        let (fd, from) = self.accept_by(sys::accept_from).await?;
        Ok((self.accepted(fd), F::address(from)?))
    }

    fn accepted(&self, fd: OwnedFd) -> Stream<F> {
        if self.shown.take() {
            self.lingers.set(sys::lingers(self.socket.get_ref().as_fd()));
        }
        let stream = Stream::adopt(fd);
        stream.conn.may_linger.set(self.lingers.get());
        stream
    }

    pub(super) async fn accept_fd(&self) -> io::Result<OwnedFd> {
        self.accept_by(sys::accept).await
    }

    async fn accept_by<T>(&self, call: impl Fn(BorrowedFd<'_>) -> io::Result<T>) -> io::Result<T> {
        let mut paused = false;
        loop {
            match self.socket.read_with(|socket| call(socket.as_fd())).await {
                Ok(accepted) => {
                    if paused {
                        event!(INFO, "accepting resumes");
                    }
                    return Ok(accepted);
                }
                Err(error) if is_exhaustion(&error) => {
                    executor::current(|worker| worker.io().metrics.accept_pauses += 1);
                    if !std::mem::replace(&mut paused, true) {
                        event!(WARN, "accepting pauses: out of descriptors or memory"; error = error);
                    }
                    sleep(EXHAUSTION_PAUSE).await;
                }
                Err(error) if is_of_the_connection(&error) => (),
                Err(error) => return Err(error),
            }
        }
    }
}

impl<F: Family> AsFd for Listener<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shown.set(true);
        self.socket.get_ref().as_fd()
    }
}

/// Whether the process or the system is out of descriptors or memory, which may pass.
fn is_exhaustion(error: &io::Error) -> bool {
    // ENOSPC: the user's limit of epoll watches is reached.
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM | libc::ENOSPC))
}

/// Whether the error is one of the connection that was to be accepted, not of the listener: accept(2), "Error handling".
fn is_of_the_connection(error: &io::Error) -> bool {
    use libc::{ECONNABORTED, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENONET, ENOPROTOOPT, EPERM, EPROTO};
    let of_it = [ECONNABORTED, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH, ENONET, ENOPROTOOPT, EPERM, EPROTO];
    error.raw_os_error().is_some_and(|errno| of_it.contains(&errno))
}

/// For the simulated world, which has to be told of the close.
#[cfg(any(test, feature = "sim"))]
impl<F: Family> Drop for Listener<F> {
    fn drop(&mut self) {
        sys::about_to_close(self.socket.get_ref().as_fd());
    }
}
