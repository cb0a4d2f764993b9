//! futures-io: `AsyncRead` and `AsyncWrite` for streams and their halves, and for pipes.

use crate::net::{Family, OwnedReadHalf, OwnedWriteHalf, ReadHalf, Stream, WriteHalf};
use crate::pipe::{PipeReader, PipeWriter};
use futures_io::{AsyncRead, AsyncWrite};
use std::io::{self, IoSlice};
use std::task::{Context, Poll};
use std::{net::Shutdown, pin::Pin};

macro_rules! async_read {
    ($($name:tt)+) => {
        impl<F: Family> AsyncRead for $($name)+ {
            fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
                self.conn().poll_read(cx, into)
            }
        }
    };
}

macro_rules! async_write {
    ($($name:tt)+) => {
        impl<F: Family> AsyncWrite for $($name)+ {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                self.conn().poll_write(cx, bytes)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                pieces: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.conn().poll_write_vectored(cx, pieces)
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.conn().poll_flush(cx)
            }

            fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.conn().poll_shutdown(cx, Shutdown::Write)
            }
        }
    };
}

async_read!(Stream<F>);
async_read!(ReadHalf<'_, F>);
async_read!(OwnedReadHalf<F>);

async_write!(Stream<F>);
async_write!(WriteHalf<'_, F>);
async_write!(OwnedWriteHalf<F>);

impl AsyncRead for PipeReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        PipeReader::poll_read(&mut self, cx, into)
    }
}

impl AsyncWrite for PipeWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        PipeWriter::poll_write(&mut self, cx, bytes)
    }

    /// A write goes to the kernel at once.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The reader sees the end when this is dropped.
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
