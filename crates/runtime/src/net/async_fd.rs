//! `Watch`: waits until a descriptor can be read or written, whatever it is.
//!
//! For what streams are not made for: datagrams, pipes, timerfd and inotify, devices, sockets of other libraries. Bytes
//! are moved by the owner of the descriptor, who tries first and waits when there is nothing.

use crate::{
    executor,
    io::{Direction, closed},
    slab::Key,
};
use std::{
    cell::Cell,
    fmt,
    future::poll_fn,
    io,
    marker::PhantomData,
    os::fd::AsFd,
    task::{Context, Poll, ready},
};

/// Attempts that may succeed in a row before the other tasks get their turn.
const STREAK: u32 = 64;
const HELD: &str = "the descriptor is held until the watch is dropped";

/// A descriptor whose readiness can be awaited. Must be made and used inside `block_on`.
///
/// The descriptor should be in non-blocking mode, because readiness is a hint: somebody else may be faster, and an old
/// event may be reported once more. So try, and wait again after `WouldBlock`; [`read_with`](Self::read_with) and
/// [`write_with`](Self::write_with) do that. Dropping a wait, or the watch itself, leaves nothing behind.
///
/// One task waits for each direction: if there are more, the last one is woken. On epoll a descriptor can be watched once
/// at a time; duplicate it for more. Regular files are always ready.
///
/// ```
/// use brunt_runtime::{net::Watch, spawn};
/// use std::io::{Read, Write};
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let (reader, mut writer) = std::io::pipe()?;
/// # rustix::io::ioctl_fionbio(&reader, true)?;
/// let watch = Watch::new(reader);
/// spawn(async move { writer.write_all(b"through a pipe") });
/// let mut buffer = [0; 64];
/// let len = watch.read_with(|mut pipe| pipe.read(&mut buffer)).await?;
/// assert_eq!(&buffer[..len], b"through a pipe");
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
pub struct Watch<F: AsFd> {
    /// Absent only after `into_inner`.
    descriptor: Option<F>,
    key: Key,
    worker: u16,
    streak: Cell<u32>,
    local: PhantomData<*mut ()>,
}

impl<F: AsFd> Watch<F> {
    /// Takes a descriptor, or a borrow of one, to watch.
    pub fn new(descriptor: F) -> Self {
        let (key, worker) = executor::current(|worker| (worker.io().add_watch(), worker.id()));
        Self { descriptor: Some(descriptor), key, worker, streak: Cell::new(0), local: PhantomData }
    }

    /// What is watched.
    pub fn get_ref(&self) -> &F {
        self.descriptor.as_ref().expect(HELD)
    }

    /// Ends the watch and gives the descriptor back.
    pub fn into_inner(mut self) -> F {
        self.release();
        self.descriptor.take().expect(HELD)
    }

    /// Waits until it can be read, or is at its end, or has an error to tell.
    pub async fn readable(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_readable(cx)).await
    }

    /// As `readable`, for hand-written futures and adapters.
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready(Direction::Input, cx)
    }

    /// Waits until it can be written, or is at its end, or has an error to tell.
    pub async fn writable(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_writable(cx)).await
    }

    /// As `writable`, for hand-written futures and adapters.
    pub fn poll_writable(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.poll_ready(Direction::Output, cx)
    }

    /// Tries `attempt`, and again whenever the descriptor can be read, until it says something else than `WouldBlock`.
    /// Dropping the future loses nothing.
    pub async fn read_with<T>(&self, mut attempt: impl FnMut(&F) -> io::Result<T>) -> io::Result<T> {
        poll_fn(|cx| self.poll_read_with(cx, &mut attempt)).await
    }

    /// As `read_with`, for hand-written futures and adapters.
    pub fn poll_read_with<T>(&self, cx: &Context<'_>, attempt: impl FnMut(&F) -> io::Result<T>) -> Poll<io::Result<T>> {
        self.poll_with(Direction::Input, cx, attempt)
    }

    /// Tries `attempt`, and again whenever the descriptor can be written, until it says something else than `WouldBlock`.
    /// Dropping the future loses nothing.
    pub async fn write_with<T>(&self, mut attempt: impl FnMut(&F) -> io::Result<T>) -> io::Result<T> {
        poll_fn(|cx| self.poll_write_with(cx, &mut attempt)).await
    }

    /// As `write_with`, for hand-written futures and adapters.
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
        // A peer that never lets us wait must not keep the other tasks from their events.
        if self.streak.get() >= STREAK {
            self.streak.set(0);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            match attempt(self.get_ref()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.streak.set(0);
                    ready!(self.poll_ready(direction, cx))?;
                }
                result => {
                    self.streak.set(self.streak.get() + 1);
                    return Poll::Ready(result);
                }
            }
        }
    }

    fn poll_ready(&self, direction: Direction, cx: &Context<'_>) -> Poll<io::Result<()>> {
        // Asked for before anything is borrowed: it is code of others.
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

impl<F: AsFd> Drop for Watch<F> {
    fn drop(&mut self) {
        self.release();
    }
}

impl<F: AsFd + fmt::Debug> fmt::Debug for Watch<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.descriptor).finish()
    }
}
