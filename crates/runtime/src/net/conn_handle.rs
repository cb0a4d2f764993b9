//! `Link`: this thread's hold on one connection, whatever its family. Streams and their halves are made of it.
//!
//! Everything here takes `&self`; that one task reads and one writes is for the types around it to see to. Must never cost
//! more than the lookup of the worker and the call into it: receive and send of every request go through here.

use super::RecvBuf;
use crate::{executor, io::closed, slab::Key};
use socket2::{SockAddr, SockRef, Socket};
use std::{
    future::poll_fn,
    io::{self, IoSlice},
    marker::PhantomData,
    mem::MaybeUninit,
    net::Shutdown,
    os::fd::OwnedFd,
    ptr,
    task::{Context, Poll, ready},
};

/// A connection of a worker. Dropping it closes it; what was written still goes out.
#[derive(Debug)]
pub(crate) struct Link {
    key: Key,
    worker: u16,
    local: PhantomData<*mut ()>,
}

impl Link {
    pub fn adopt(fd: OwnedFd) -> Self {
        executor::current(|worker| Self { key: worker.io().adopt(fd), worker: worker.id(), local: PhantomData })
    }

    /// Connects a fresh non-blocking socket.
    pub async fn connect(socket: Socket, address: SockAddr) -> io::Result<Self> {
        let link = executor::current(|worker| Self {
            key: worker.io().start_connect(socket.into(), address),
            worker: worker.id(),
            local: PhantomData,
        });
        poll_fn(|cx| executor::current(|worker| worker.io().poll_connected(link.key, cx))).await?;
        Ok(link)
    }

    #[inline]
    pub fn poll_read(&self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        // SAFETY: the two slices have the same layout, and `poll_read_uninit` only writes bytes: none is uninitialised.
        let into = unsafe { &mut *(ptr::from_mut(into) as *mut [MaybeUninit<u8>]) };
        self.poll_read_uninit(cx, into)
    }

    /// As `poll_read`: the first so many bytes are written when it is ready, and no byte is uninitialised.
    #[inline]
    pub fn poll_read_uninit(&self, cx: &Context<'_>, into: &mut [MaybeUninit<u8>]) -> Poll<io::Result<usize>> {
        self.here(|worker, key| worker.io().poll_read(key, cx, into))
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
    pub fn poll_send(&self, cx: &Context<'_>, lease: &mut Option<RecvBuf>) -> Poll<io::Result<()>> {
        let sent = lease.as_ref().expect("there is no lease: the send was ready before");
        let Some(worker) = sent.worker() else { return self.poll_flush(cx) };
        if worker != self.worker {
            let message = "the lease belongs to another runtime";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, message)));
        }
        let part = sent.part();
        ready!(self.here(|worker, key| worker.io().poll_send(key, cx, part)))?;
        // The runtime has the buffer now.
        std::mem::forget(lease.take());
        Poll::Ready(Ok(()))
    }

    #[inline(always)]
    pub fn poll_write(&self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.here(|worker, key| worker.io().poll_write(key, cx, bytes))
    }

    pub fn poll_write_vectored(&self, cx: &Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.here(|worker, key| worker.io().poll_write_vectored(key, cx, pieces))
    }

    #[inline]
    pub fn poll_flush(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.here(|worker, key| worker.io().poll_flush(key, cx))
    }

    pub fn poll_shutdown(&self, cx: &Context<'_>, how: Shutdown) -> Poll<io::Result<()>> {
        if how != Shutdown::Read {
            ready!(self.poll_flush(cx))?;
        }
        match self.socket(|socket| socket.shutdown(how)) {
            // A peer that has reset the connection has shut it down already.
            Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }

    /// Nobody writes any more: shuts the write direction down as soon as everything written has gone.
    pub fn end_output(&self) {
        executor::with(self.worker, |worker| worker.io().end_output(self.key));
    }

    pub fn socket<T>(&self, f: impl FnOnce(SockRef<'_>) -> io::Result<T>) -> io::Result<T> {
        executor::with(self.worker, |worker| f(SockRef::from(&worker.io().fd(self.key)?)))
            .unwrap_or_else(|| Err(closed()))
    }

    #[inline(always)]
    fn here<T>(&self, f: impl FnOnce(&executor::Worker, Key) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        executor::with(self.worker, |worker| f(worker, self.key)).unwrap_or_else(|| Poll::Ready(Err(closed())))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        executor::with(self.worker, |worker| worker.io().drop_conn(self.key));
    }
}
