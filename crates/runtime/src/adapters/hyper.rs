//! hyper 1: streams, executor, timer.

use crate::net::{Family, Stream};
use crate::time;
use hyper::rt::{Executor, Read, ReadBufCursor, Sleep, Timer, Write};
use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use std::{future::Future, net::Shutdown, pin::Pin};

impl<F: Family> Read for Stream<F> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        // SAFETY: `poll_read_uninit` uninitialises no byte.
        let free = unsafe { into.as_mut() };
        let len = ready!(self.conn().poll_read_uninit(cx, free))?;
        // SAFETY: it has initialised the first `len` bytes of `free`.
        unsafe { into.advance(len) };
        Poll::Ready(Ok(()))
    }
}

impl<F: Family> Write for Stream<F> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.conn().poll_write(cx, bytes)
    }

    /// Does nothing: written bytes are sent without it, and hyper, which flushes after every response, is spared a wake-up.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.conn().poll_shutdown(cx, Shutdown::Write)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.conn().poll_write_vectored(cx, pieces)
    }
}

/// Runs hyper's own futures (HTTP/2 needs it) as tasks of this thread's runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct HyperExecutor;

impl<F: Future + 'static> Executor<F> for HyperExecutor {
    fn execute(&self, future: F) {
        drop(crate::spawn(future));
    }
}

/// This runtime's timers, for hyper's timeouts.
#[derive(Debug, Clone, Copy, Default)]
pub struct HyperTimer;

impl Timer for HyperTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(time::sleep(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(time::sleep_until(deadline))
    }
}

impl Sleep for time::Sleep {}
