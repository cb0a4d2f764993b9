//! `Stream`: a connection of either family. Shared methods are in [`super::methods`].

use super::{RecvBuf, conn_handle::ConnHandle};
use crate::sys;
use socket2::{Domain, SockRef};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};
use std::{fmt, future::Future, io, marker::PhantomData, pin::Pin, time::Duration};

pub(super) mod sealed {
    pub trait Sealed: Sized {
        type Address;
        fn address(address: socket2::SockAddr) -> std::io::Result<Self::Address>;
    }
}

/// A family of streams: [`Tcp`](super::Tcp), [`Unix`](super::Unix), or [`Any`](super::Any) of them.
pub trait Family: sealed::Sealed<Address = Self::Addr> + fmt::Debug + Unpin + 'static {
    /// The standard library's address of a socket.
    type Addr;
    /// The standard library's stream.
    type StdStream: Into<OwnedFd> + From<OwnedFd>;
    /// The standard library's listener.
    type StdListener: Into<OwnedFd> + From<OwnedFd>;
}

/// A socket from outside, made non-blocking: one that listens, or one that does not. What else it may be, the backends take
/// differently.
pub(super) fn non_blocking(socket: impl Into<OwnedFd>, listening: bool) -> io::Result<OwnedFd> {
    let socket = socket.into();
    check(&socket, listening)?;
    SockRef::from(&socket).set_nonblocking(true)?;
    sys::adopt(socket.as_fd())?;
    Ok(socket)
}

fn check(socket: &OwnedFd, listening: bool) -> io::Result<()> {
    if sys::is_simulated() {
        // Of such a socket the kernel knows nothing.
        return Ok(());
    }
    let message = match SockRef::from(socket).is_listener() {
        Ok(listens) if listens == listening => return Ok(()),
        Ok(true) => "a listening socket is adopted as a listener, not as a stream",
        Ok(false) => "a socket that does not listen is not adopted as a listener; call listen(2) before",
        Err(error) if error.raw_os_error() == Some(libc::ENOTSOCK) => "the descriptor is not that of a socket",
        Err(error) => return Err(error),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// A connection of this thread's runtime: a [`TcpStream`](super::TcpStream) or a [`UnixStream`](super::UnixStream).
/// Dropping it closes it after everything written has been sent.
///
/// [`read`](Self::read) and [`recv`](Self::recv) take from one inbox; the write methods share one send in flight. One task
/// may read while another writes: see [`split`](Self::split) and [`into_split`](Self::into_split).
#[derive(Debug)]
pub struct Stream<F: Family> {
    pub(super) conn: ConnHandle,
    family: PhantomData<F>,
}

impl<F: Family> Stream<F> {
    pub(super) fn new(conn: ConnHandle) -> Self {
        Self { conn, family: PhantomData }
    }

    #[track_caller]
    pub(super) fn adopt(fd: OwnedFd) -> Self {
        Self::new(ConnHandle::adopt(fd))
    }

    #[inline(always)]
    pub(crate) fn conn(&self) -> &ConnHandle {
        &self.conn
    }

    /// Adopts a connected socket.
    ///
    /// # Errors
    /// `InvalidInput` if it listens, or is no socket.
    #[track_caller]
    pub fn from_std(stream: F::StdStream) -> io::Result<Self> {
        let stream = Self::adopt(non_blocking(stream, false)?);
        stream.conn.may_linger.set(true);
        Ok(stream)
    }

    /// Gives the socket back, non-blocking, once everything written was sent. Bytes that the runtime has received and that
    /// were not read come with it.
    ///
    /// # Errors
    /// That of an earlier write; the connection is closed then.
    pub async fn into_std(self) -> io::Result<IntoStd<F::StdStream>> {
        let (fd, unread) = self.conn.release().await?;
        Ok(IntoStd { stream: fd.into(), unread })
    }

    /// The address of the peer; unnamed for most clients of Unix sockets.
    pub fn peer_addr(&self) -> io::Result<F::Addr> {
        self.conn.socket(|socket| sys::peer_addr(&socket)).and_then(F::address)
    }

    /// The local address.
    pub fn local_addr(&self) -> io::Result<F::Addr> {
        self.conn.socket(|socket| sys::local_addr(&socket)).and_then(F::address)
    }

    /// Sets TCP_NODELAY, which is initially on. No effect on Unix streams.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.conn.socket(|socket| match socket.domain()? {
            Domain::UNIX => Ok(()),
            _ => socket.set_tcp_nodelay(on),
        })
    }

    /// Makes closing a TCP stream a reset: queued data is discarded and no port stays in TIME_WAIT. No effect on Unix streams.
    pub fn set_linger_zero(&self) -> io::Result<()> {
        self.conn.socket(|socket| socket.set_linger(Some(Duration::ZERO)))?;
        self.conn.reset_on_close();
        Ok(())
    }

    /// Sets SO_RCVBUF in bytes. The kernel lowers it to net.core.rmem_max, doubles it for its own needs, and stops adapting it.
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.conn.socket(|socket| socket.set_recv_buffer_size(bytes).map(|()| sys::buffers_changed(&socket)))
    }

    /// SO_RCVBUF in bytes, as the kernel counts.
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        self.conn.socket(|socket| socket.recv_buffer_size())
    }

    /// Sets SO_SNDBUF in bytes. The kernel lowers it to net.core.wmem_max, doubles it for its own needs, and stops adapting it.
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.conn.socket(|socket| socket.set_send_buffer_size(bytes).map(|()| sys::buffers_changed(&socket)))
    }

    /// SO_SNDBUF in bytes, as the kernel counts.
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        self.conn.socket(|socket| socket.send_buffer_size())
    }
}

/// For options that have no method here, through a crate such as socket2 or rustix. Reading or writing behind the runtime's back
/// disorders the stream.
impl<F: Family> AsFd for Stream<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.conn.may_linger.set(true);
        self.conn.as_fd()
    }
}

/// What [`Stream::into_std`] returns.
#[derive(Debug)]
pub struct IntoStd<S> {
    /// The standard library's stream, non-blocking.
    pub stream: S,
    /// Bytes received before, which come before what `stream` reads.
    pub unread: Vec<u8>,
}

/// The future of [`Stream::recv`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct RecvFuture<'a> {
    pub(super) conn: &'a ConnHandle,
}

impl Future for RecvFuture<'_> {
    type Output = io::Result<RecvBuf>;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.conn.poll_recv(cx)
    }
}

/// The future of [`Stream::send`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct SendFuture<'a> {
    pub(super) conn: &'a ConnHandle,
    pub(super) buffer: Option<RecvBuf>,
}

impl Future for SendFuture<'_> {
    type Output = io::Result<()>;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { conn, buffer } = self.get_mut();
        conn.poll_send(cx, buffer)
    }
}
