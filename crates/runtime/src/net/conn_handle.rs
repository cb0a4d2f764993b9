//! A connection of this thread, of either family: what streams and their halves are built on.
//!
//! All methods take `&self`; the public types ensure one reader and one writer. Every receive and send passes through here,
//! so nothing may cost more than finding the worker and one call into it.

use super::RecvBuf;
use crate::executor::{self, Worker};
use crate::{io::closed, slab::Key, sys};
use socket2::{SockAddr, SockRef, Socket};
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};
use std::{future::poll_fn, marker::PhantomData, mem::MaybeUninit, net::Shutdown, os::fd::OwnedFd, ptr};

/// A connection of a worker. Dropping it closes the connection after everything written has been sent.
#[derive(Debug)]
pub(crate) struct ConnHandle {
    key: Key,
    worker: u16,
    local: PhantomData<*mut ()>,
}

impl ConnHandle {
    pub fn adopt(fd: OwnedFd) -> Self {
        executor::current(|worker| Self { key: worker.io().adopt(fd), worker: worker.id(), local: PhantomData })
    }

    /// Connects a fresh non-blocking socket.
    pub async fn connect(socket: Socket, address: SockAddr) -> io::Result<Self> {
        let conn = executor::current(|worker| Self {
            key: worker.io().start_connect(socket.into(), address),
            worker: worker.id(),
            local: PhantomData,
        });
        poll_fn(|cx| executor::current(|worker| worker.io().poll_connected(conn.key, cx))).await?;
        Ok(conn)
    }

    #[inline]
    pub fn poll_read(&self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        // SAFETY: the slices have the same layout, and `poll_read_uninit` writes initialised bytes only.
        let into = unsafe { &mut *(ptr::from_mut(into) as *mut [MaybeUninit<u8>]) };
        self.poll_read_uninit(cx, into)
    }

    /// As `poll_read`. Initialises the returned number of bytes and uninitialises none.
    #[inline]
    pub fn poll_read_uninit(&self, cx: &Context<'_>, into: &mut [MaybeUninit<u8>]) -> Poll<io::Result<usize>> {
        self.on_worker(|worker, key| worker.io().poll_read(key, cx, into))
    }

    #[inline(always)]
    pub fn poll_recv(&self, cx: &Context<'_>) -> Poll<io::Result<RecvBuf>> {
        // SAFETY: the reference does not leave this function.
        let Some(worker) = (unsafe { executor::find(self.worker) }) else { return Poll::Ready(Err(closed())) };
        let Some(received) = ready!(worker.io().poll_receive(self.key, cx))? else {
            return Poll::Ready(Ok(RecvBuf::end_of_stream()));
        };
        Poll::Ready(Ok(RecvBuf::new(self.worker, received)))
    }

    #[inline(always)]
    pub fn poll_send(&self, cx: &Context<'_>, buffer: &mut Option<RecvBuf>) -> Poll<io::Result<()>> {
        let sent = buffer.as_ref().expect("no buffer: the send has already completed");
        let Some(worker) = sent.worker() else { return self.poll_flush(cx) };
        if worker != self.worker {
            let message = "the buffer belongs to another runtime";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, message)));
        }
        let part = sent.part();
        ready!(self.on_worker(|worker, key| worker.io().poll_send(key, cx, part)))?;
        // The send owns the buffer now.
        std::mem::forget(buffer.take());
        Poll::Ready(Ok(()))
    }

    #[inline(always)]
    pub fn poll_write(&self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.on_worker(|worker, key| worker.io().poll_write(key, cx, bytes))
    }

    pub fn poll_write_vectored(&self, cx: &Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.on_worker(|worker, key| worker.io().poll_write_vectored(key, cx, slices))
    }

    #[inline]
    pub fn poll_flush(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.on_worker(|worker, key| worker.io().poll_flush(key, cx))
    }

    pub fn poll_shutdown(&self, cx: &Context<'_>, how: Shutdown) -> Poll<io::Result<()>> {
        if how != Shutdown::Read {
            ready!(self.poll_flush(cx))?;
        }
        match self.socket(|socket| sys::shutdown(&socket, how)) {
            // The peer has reset the connection, which shuts it down too.
            Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }

    /// Shuts the write direction down once everything written has been sent.
    pub fn end_output(&self) {
        executor::with(self.worker, |worker| worker.io().end_output(self.key));
    }

    pub fn reset_on_close(&self) {
        executor::with(self.worker, |worker| worker.io().reset_on_close(self.key));
    }

    pub fn socket<T>(&self, f: impl FnOnce(SockRef<'_>) -> io::Result<T>) -> io::Result<T> {
        executor::with(self.worker, |worker| f(SockRef::from(&worker.io().fd(self.key)?)))
            .unwrap_or_else(|| Err(closed()))
    }

    #[inline(always)]
    fn on_worker<T>(&self, f: impl FnOnce(&Worker, Key) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        executor::with(self.worker, |worker| f(worker, self.key)).unwrap_or_else(|| Poll::Ready(Err(closed())))
    }
}

impl Drop for ConnHandle {
    fn drop(&mut self) {
        executor::with(self.worker, |worker| worker.io().drop_conn(self.key));
    }
}
