//! hyper 1 where it demands `Send`: upgrades, and hyper-util's client.

use crate::net::{Family, Stream};
use hyper::rt::{Read, ReadBufCursor, Write};
use send_wrapper::SendWrapper;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A stream that is `Send` where that is demanded: by hyper for upgrades (`with_upgrades`) and by hyper-util for its client, because
/// tasks of other runtimes move between threads. It stays on its thread nevertheless: using or dropping it on another
/// one panics.
///
/// After an upgrade `Upgraded::downcast` returns it, for [`into_inner`](Self::into_inner).
#[derive(Debug)]
pub struct HyperStream<F: Family>(SendWrapper<Stream<F>>);

impl<F: Family> HyperStream<F> {
    /// Wraps a stream.
    pub fn new(stream: Stream<F>) -> Self {
        Self(SendWrapper::new(stream))
    }

    /// The stream.
    ///
    /// # Panics
    /// On another thread than the one that has wrapped it.
    pub fn into_inner(self) -> Stream<F> {
        self.0.take()
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut Stream<F>> {
        Pin::new(&mut *self.get_mut().0)
    }
}

impl<F: Family> Read for HyperStream<F> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Read::poll_read(self.stream(), cx, into)
    }
}

impl<F: Family> Write for HyperStream<F> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Write::poll_write(self.stream(), cx, bytes)
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Write::poll_flush(self.stream(), cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Write::poll_shutdown(self.stream(), cx)
    }
    fn is_write_vectored(&self) -> bool {
        true
    }
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Write::poll_write_vectored(self.stream(), cx, pieces)
    }
}
