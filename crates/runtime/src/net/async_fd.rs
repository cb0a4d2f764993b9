//! `AsyncFd`: readiness of any descriptor.
//!
//! For datagrams, pipes, timerfd, inotify, devices, and sockets of other libraries: try the I/O, wait on `WouldBlock`.

use crate::io::{Direction, closed};
use crate::{executor, slab::Key};
use std::task::{Context, Poll, ready};
use std::{cell::Cell, fmt, future::poll_fn, io, marker::PhantomData, os::fd::AsFd};

/// Successful attempts in a row before yielding to other tasks.
const BUDGET: u32 = 64;
const HELD: &str = "the descriptor is held until drop";

/// A descriptor whose readiness can be awaited. Must be created and used inside `block_on`.
///
/// The descriptor should be non-blocking, because readiness is a hint: another reader may be faster, and an old event may be
/// reported again. Try, and wait again after `WouldBlock`; [`read_with`](Self::read_with) and
/// [`write_with`](Self::write_with) do that. Dropping a wait or the `AsyncFd` deregisters it.
///
/// One task waits in each direction; with several, the last one to wait is woken. On epoll a descriptor can be in one
/// `AsyncFd` at a time; duplicate it for more. Regular files are always ready.
///
/// ```
/// use brunt_runtime::{net::AsyncFd, spawn};
/// use std::io::{Read, Write};
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let (reader, mut writer) = std::io::pipe()?;
/// # rustix::io::ioctl_fionbio(&reader, true)?;
/// let reader = AsyncFd::new(reader);
/// spawn(async move { writer.write_all(b"through a pipe") });
/// let mut buffer = [0; 64];
/// let len = reader.read_with(|mut pipe| pipe.read(&mut buffer)).await?;
/// assert_eq!(&buffer[..len], b"through a pipe");
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
pub struct AsyncFd<F: AsFd> {
    /// `None` only after `into_inner`.
    descriptor: Option<F>,
    key: Key,
    worker: u16,
    successes: Cell<u32>,
    local: PhantomData<*mut ()>,
}

impl<F: AsFd> AsyncFd<F> {
    /// Wraps a descriptor or a borrow of one.
    pub fn new(descriptor: F) -> Self {
        let (key, worker) = executor::current(|worker| (worker.io().add_watch(), worker.id()));
        Self { descriptor: Some(descriptor), key, worker, successes: Cell::new(0), local: PhantomData }
    }

    /// The descriptor.
    pub fn get_ref(&self) -> &F {
        self.descriptor.as_ref().expect(HELD)
    }

    /// Deregisters and returns the descriptor.
    pub fn into_inner(mut self) -> F {
        self.release();
        self.descriptor.take().expect(HELD)
    }

    /// Waits until it is readable, at its end, or has an error.
    pub async fn readable(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_readable(cx)).await
    }

    /// Poll form of `readable`.
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready(Direction::Input, cx)
    }

    /// Waits until it is writable, at its end, or has an error.
    pub async fn writable(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_writable(cx)).await
    }

    /// Poll form of `writable`.
    pub fn poll_writable(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready(Direction::Output, cx)
    }

    /// Calls `attempt` whenever the descriptor is readable, until it returns anything but `WouldBlock`. Cancel-safe.
    pub async fn read_with<T>(&self, mut attempt: impl FnMut(&F) -> io::Result<T>) -> io::Result<T> {
        poll_fn(|cx| self.poll_read_with(cx, &mut attempt)).await
    }

    /// Poll form of `read_with`.
    pub fn poll_read_with<T>(&self, cx: &Context<'_>, attempt: impl FnMut(&F) -> io::Result<T>) -> Poll<io::Result<T>> {
        self.poll_with(Direction::Input, cx, attempt)
    }

    /// Calls `attempt` whenever the descriptor is writable, until it returns anything but `WouldBlock`. Cancel-safe.
    pub async fn write_with<T>(&self, mut attempt: impl FnMut(&F) -> io::Result<T>) -> io::Result<T> {
        poll_fn(|cx| self.poll_write_with(cx, &mut attempt)).await
    }

    /// Poll form of `write_with`.
    pub fn poll_write_with<T>(
        &self,
        cx: &Context<'_>,
        attempt: impl FnMut(&F) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        self.poll_with(Direction::Output, cx, attempt)
    }

    fn poll_with<T>(
        &self,
        direction: Direction,
        cx: &Context<'_>,
        mut attempt: impl FnMut(&F) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        // A peer that is always ready must not starve the other tasks.
        if self.successes.get() >= BUDGET {
            self.successes.set(0);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            match attempt(self.get_ref()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.successes.set(0);
                    ready!(self.poll_ready(direction, cx))?;
                }
                result => {
                    self.successes.set(self.successes.get() + 1);
                    return Poll::Ready(result);
                }
            }
        }
    }

    fn poll_ready(&self, direction: Direction, cx: &Context<'_>) -> Poll<io::Result<()>> {
        // Called before anything is borrowed: `as_fd` is user code.
        let fd = self.get_ref().as_fd();
        executor::with(self.worker, |worker| worker.io().poll_ready(self.key, fd, direction, cx))
            .unwrap_or_else(|| Poll::Ready(Err(closed())))
    }

    fn release(&mut self) {
        let Some(descriptor) = &self.descriptor else { return };
        let fd = descriptor.as_fd();
        executor::with(self.worker, |worker| worker.io().drop_watch(self.key, Some(fd)));
    }
}

impl<F: AsFd> Drop for AsyncFd<F> {
    fn drop(&mut self) {
        self.release();
    }
}

impl<F: AsFd + fmt::Debug> fmt::Debug for AsyncFd<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncFd").field(&self.descriptor).finish()
    }
}
