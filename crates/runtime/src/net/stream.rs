//! `Stream`: a connection of either family. What both can do is in [`super::methods`], what one of them can in its file.

use super::{RecvBuf, conn_handle::Link};
use std::{
    fmt,
    future::Future,
    io,
    marker::PhantomData,
    os::fd::OwnedFd,
    pin::Pin,
    task::{Context, Poll},
};

pub(super) mod sealed {
    pub trait Sealed {}
}

/// A family of streams. There are two: [`Tcp`](super::Tcp) and [`Unix`](super::Unix).
pub trait Family: sealed::Sealed + fmt::Debug + Unpin + 'static {}

/// A connection of this thread's runtime: a [`TcpStream`](super::TcpStream) or a [`UnixStream`](super::UnixStream).
/// Dropping it closes it; what was written still goes out.
///
/// There are two ways to read, [`read`](Self::read) and [`recv`](Self::recv), from one inbox, and three to write, with one
/// send in flight. One task may read while another writes: see [`split`](Self::split) and
/// [`into_split`](Self::into_split).
#[derive(Debug)]
pub struct Stream<F: Family> {
    link: Link,
    family: PhantomData<F>,
}

impl<F: Family> Stream<F> {
    pub(super) fn new(link: Link) -> Self {
        Self { link, family: PhantomData }
    }

    pub(super) fn adopt(fd: OwnedFd) -> Self {
        Self::new(Link::adopt(fd))
    }

    #[inline(always)]
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Sets how many bytes the kernel may hold that we have not yet received (SO_RCVBUF). It doubles the number for its
    /// own needs, after lowering it to net.core.rmem_max, and no longer adapts it.
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.link.socket(|socket| socket.set_recv_buffer_size(bytes))
    }

    /// The size of the kernel's receive buffer in bytes, as the kernel counts.
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        self.link.socket(|socket| socket.recv_buffer_size())
    }

    /// Sets how many bytes the kernel may hold that the peer has not yet taken (SO_SNDBUF). It doubles the number for its
    /// own needs, after lowering it to net.core.wmem_max, and no longer adapts it.
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.link.socket(|socket| socket.set_send_buffer_size(bytes))
    }

    /// The size of the kernel's send buffer in bytes, as the kernel counts.
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        self.link.socket(|socket| socket.send_buffer_size())
    }
}

/// The future of [`Stream::recv`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Recv<'a> {
    pub(super) link: &'a Link,
}

impl Future for Recv<'_> {
    type Output = io::Result<RecvBuf>;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.link.poll_recv(cx)
    }
}

/// The future of [`Stream::send`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Send<'a> {
    pub(super) link: &'a Link,
    pub(super) lease: Option<RecvBuf>,
}

impl Future for Send<'_> {
    type Output = io::Result<()>;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { link, lease } = self.get_mut();
        link.poll_send(cx, lease)
    }
}
