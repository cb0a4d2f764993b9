//! A connection of this thread, of either family: what streams and their halves are built on.
//!
//! All methods take `&self`; the public types ensure one reader and one writer. Every receive and send passes through here,
//! so nothing may cost more than finding the worker and one call into it.

use super::RecvBuf;
use crate::executor::{self, StaysOnItsThread, Worker};
use crate::{io::closed, io::direct, slab::Key, sys};
use socket2::{SockAddr, SockRef, Socket};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, ready};
use std::{future::poll_fn, net::Shutdown, ptr};

/// A connection of a worker. Dropping it closes the connection after everything written has been sent.
#[derive(Debug)]
pub(crate) struct ConnHandle {
    key: Key,
    worker: u16,
    /// Open as long as this; then the worker closes it, when no request refers to it any more.
    fd: ManuallyDrop<OwnedFd>,
    /// The descriptor, or that of its listener, was given by the program or lent to it, and may have a time of SO_LINGER. To ask the
    /// kernel at every close costs 2 % of a short connection.
    pub may_linger: Cell<bool>,
    _stays: StaysOnItsThread,
}

impl ConnHandle {
    #[track_caller]
    pub fn adopt(fd: OwnedFd) -> Self {
        executor::current(|worker| Self::new(worker, worker.io().adopt(fd.as_raw_fd()), fd))
    }

    /// Connects a fresh non-blocking socket.
    pub async fn connect(socket: Socket, address: SockAddr) -> io::Result<Self> {
        let conn = executor::current(|worker| {
            let key = worker.io().start_connect(socket.as_raw_fd(), address);
            Self::new(worker, key, socket.into())
        });
        poll_fn(|cx| conn.on_worker(|worker, key| worker.io().poll_connected(key, cx))).await?;
        Ok(conn)
    }

    fn new(worker: &Worker, key: Key, fd: OwnedFd) -> Self {
        Self {
            key,
            worker: worker.id(),
            fd: ManuallyDrop::new(fd),
            may_linger: Cell::new(false),
            _stays: StaysOnItsThread::default(),
        }
    }

    /// Gives the socket back, and the bytes received and not read, once everything written was sent.
    pub async fn release(mut self) -> io::Result<(OwnedFd, Vec<u8>)> {
        let unread = poll_fn(|cx| self.on_worker(|worker, key| worker.io().poll_release(key, cx))).await?;
        // SAFETY: the handle is forgotten.
        let fd = unsafe { ManuallyDrop::take(&mut self.fd) };
        mem::forget(self);
        Ok((fd, unread))
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
        self.on_worker(|worker, key| {
            // Direct: a peer that sends fast could keep it from ever waiting.
            if into.len() >= direct::LEAST {
                ready!(worker.poll_budget(cx));
            }
            worker.io().poll_read(key, cx, into)
        })
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
        self.on_worker(|worker, key| {
            ready!(worker.poll_budget(cx));
            worker.io().poll_write(key, cx, bytes)
        })
    }

    pub fn poll_write_vectored(&self, cx: &Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.on_worker(|worker, key| {
            ready!(worker.poll_budget(cx));
            worker.io().poll_write_vectored(key, cx, slices)
        })
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
            // Both sides have ended, or the peer has reset the connection.
            Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) && how != Shutdown::Read => {
                Poll::Ready(self.pending_error())
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }

    /// An error of which no receive or send has told yet. The kernel tells of it once, the connection from now on.
    fn pending_error(&self) -> io::Result<()> {
        let Some(error) = self.socket(|socket| sys::take_error(&socket))? else { return Ok(()) };
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        executor::with(self.worker, |worker| worker.io().write_failed(self.key, errno));
        Err(error)
    }

    /// Shuts the write direction down once everything written has been sent.
    pub fn end_output(&self) {
        executor::with(self.worker, |worker| {
            worker.io().end_output(self.key);
            worker.settle_outside();
        });
    }

    /// Stops receiving: what comes stays with the kernel until [`resume`](Self::resume).
    pub async fn pause(&self) -> io::Result<()> {
        poll_fn(|cx| self.on_worker(|worker, key| worker.io().poll_pause(key, cx))).await
    }

    pub fn resume(&self) {
        executor::with(self.worker, |worker| worker.io().resume_receive(self.key));
    }

    /// Whether reading would not wait.
    pub fn has_input(&self) -> bool {
        executor::with(self.worker, |worker| worker.io().has_input(self.key)).unwrap_or(true)
    }

    /// A call beside the worker has failed with an error of the connection.
    pub fn fail(&self, error: &io::Error) {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        executor::with(self.worker, |worker| worker.io().fail(self.key, errno));
    }

    /// As [`fail`](Self::fail), for a write. Returns the error of the connection.
    pub fn fail_write(&self, error: &io::Error) -> io::Error {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        executor::with(self.worker, |worker| worker.io().write_failed(self.key, errno)).unwrap_or_else(closed)
    }

    /// Bytes for the peer are lost: nothing more is written, and closing is a reset.
    pub fn lose(&self) {
        let _ = self.fail_write(&io::Error::from_raw_os_error(libc::ECANCELED));
    }

    pub fn reset_on_close(&self) {
        executor::with(self.worker, |worker| worker.io().reset_on_close(self.key));
    }

    pub fn socket<T>(&self, f: impl FnOnce(SockRef<'_>) -> io::Result<T>) -> io::Result<T> {
        f(SockRef::from(&*self.fd))
    }

    #[inline(always)]
    fn on_worker<T>(&self, f: impl FnOnce(&Worker, Key) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        executor::with(self.worker, |worker| f(worker, self.key)).unwrap_or_else(|| Poll::Ready(Err(closed())))
    }
}

impl AsFd for ConnHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for ConnHandle {
    fn drop(&mut self) {
        // SAFETY: this is the end of the handle.
        let mut fd = Some(unsafe { ManuallyDrop::take(&mut self.fd) });
        if self.may_linger.get() {
            fd.iter().for_each(|fd| sys::end_linger(fd.as_fd()));
        }
        executor::with(self.worker, |worker| {
            if let Some(fd) = fd.take() {
                worker.io().drop_conn(self.key, fd);
            }
            worker.settle_outside();
        });
        fd.into_iter().for_each(sys::close);
    }
}

/// Bytes on their way to a connection, which are lost if this is dropped.
pub(super) struct Held<'a>(pub &'a ConnHandle);

impl Held<'_> {
    pub fn arrived(self) {
        mem::forget(self);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.lose();
    }
}
