//! `AsyncFd`: readiness of any descriptor.
//!
//! For datagrams, pipes, timerfd, inotify, devices, and sockets of other libraries: try the I/O, wait on `WouldBlock`.

use crate::executor::{self, StaysOnItsThread, Worker};
use crate::io::{Direction, closed};
use crate::slab::Key;
use crate::task::wait_list::Ticket;
use std::task::{Context, Poll, ready};
use std::{fmt, future::poll_fn, io, os::fd::AsFd};

const HELD: &str = "the descriptor is held until drop";

/// A descriptor whose readiness can be awaited. Must be created and used inside `block_on`.
///
/// The descriptor should be non-blocking, because readiness is a hint: another reader may be faster, and an old event may be
/// reported again. Try, and wait again after `WouldBlock`; [`read_with`](Self::read_with) and
/// [`write_with`](Self::write_with) do that. Dropping a wait or the `AsyncFd` deregisters it.
///
/// Any number of futures may wait in a direction: an event wakes all of them. The poll forms of a direction share one place:
/// of several, the last that was polled is woken. On epoll a descriptor can be in one `AsyncFd` at a time; duplicate it for
/// more. Regular files are always ready.
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
    _stays: StaysOnItsThread,
}

impl<F: AsFd> AsyncFd<F> {
    /// Wraps a descriptor or a borrow of one.
    #[track_caller]
    pub fn new(descriptor: F) -> Self {
        let (key, worker) = executor::current(|worker| (worker.io().add_watch(), worker.id()));
        Self { descriptor: Some(descriptor), key, worker, _stays: StaysOnItsThread::default() }
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
        let mut wait = self.wait(Direction::Input);
        poll_fn(|cx| wait.poll_ready(cx)).await
    }

    /// Poll form of `readable`.
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready(Direction::Input, &mut { Ticket::POLLED }, cx)
    }

    /// Waits until it is writable, at its end, or has an error.
    pub async fn writable(&self) -> io::Result<()> {
        let mut wait = self.wait(Direction::Output);
        poll_fn(|cx| wait.poll_ready(cx)).await
    }

    /// Poll form of `writable`.
    pub fn poll_writable(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready(Direction::Output, &mut { Ticket::POLLED }, cx)
    }

    /// Calls `attempt` whenever the descriptor is readable, until it returns anything but `WouldBlock`. Cancel-safe.
    pub async fn read_with<T>(&self, mut attempt: impl FnMut(&F) -> io::Result<T>) -> io::Result<T> {
        let mut wait = self.wait(Direction::Input);
        poll_fn(|cx| wait.poll_with(cx, &mut attempt)).await
    }

    /// Poll form of `read_with`.
    pub fn poll_read_with<T>(&self, cx: &Context<'_>, attempt: impl FnMut(&F) -> io::Result<T>) -> Poll<io::Result<T>> {
        self.poll_with((Direction::Input, &mut { Ticket::POLLED }), cx, attempt)
    }

    /// Calls `attempt` whenever the descriptor is writable, until it returns anything but `WouldBlock`. Cancel-safe.
    pub async fn write_with<T>(&self, mut attempt: impl FnMut(&F) -> io::Result<T>) -> io::Result<T> {
        let mut wait = self.wait(Direction::Output);
        poll_fn(|cx| wait.poll_with(cx, &mut attempt)).await
    }

    /// Poll form of `write_with`.
    pub fn poll_write_with<T>(
        &self,
        cx: &Context<'_>,
        attempt: impl FnMut(&F) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        self.poll_with((Direction::Output, &mut { Ticket::POLLED }), cx, attempt)
    }

    fn poll_with<T>(
        &self,
        (direction, ticket): (Direction, &mut Ticket),
        cx: &Context<'_>,
        mut attempt: impl FnMut(&F) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let proceeds = |worker: &Worker| {
            ready!(worker.poll_budget(cx));
            worker.io().forget_ready(self.key, direction);
            Poll::Ready(())
        };
        let Some(proceeds) = executor::with(self.worker, proceeds) else { return Poll::Ready(Err(closed())) };
        ready!(proceeds);
        loop {
            match attempt(self.get_ref()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.poll_ready(direction, ticket, cx))?;
                }
                result => return Poll::Ready(result),
            }
        }
    }

    fn wait(&self, direction: Direction) -> Wait<'_, F> {
        Wait { of: self, direction, ticket: Ticket::default() }
    }

    fn poll_ready(&self, direction: Direction, ticket: &mut Ticket, cx: &Context<'_>) -> Poll<io::Result<()>> {
        // Called before anything is borrowed: `as_fd` is user code.
        let fd = self.get_ref().as_fd();
        executor::with(self.worker, |worker| worker.io().poll_ready(self.key, fd, (direction, ticket), cx))
            .unwrap_or_else(|| Poll::Ready(Err(closed())))
    }

    fn release(&mut self) {
        let Some(descriptor) = &self.descriptor else { return };
        let fd = descriptor.as_fd();
        executor::with(self.worker, |worker| worker.io().drop_watch(self.key, Some(fd)));
    }
}

/// One future's wait, which leaves the list of those that wait when it is dropped.
struct Wait<'a, F: AsFd> {
    of: &'a AsyncFd<F>,
    direction: Direction,
    ticket: Ticket,
}

impl<F: AsFd> Wait<'_, F> {
    fn poll_ready(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.of.poll_ready(self.direction, &mut self.ticket, cx)
    }

    fn poll_with<T>(&mut self, cx: &Context<'_>, attempt: impl FnMut(&F) -> io::Result<T>) -> Poll<io::Result<T>> {
        self.of.poll_with((self.direction, &mut self.ticket), cx, attempt)
    }
}

impl<F: AsFd> Drop for Wait<'_, F> {
    fn drop(&mut self) {
        if self.ticket != Ticket::default() {
            executor::with(self.of.worker, |worker| worker.io().leave(self.of.key, (self.direction, self.ticket)));
        }
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
