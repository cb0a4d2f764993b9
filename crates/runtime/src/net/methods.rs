//! Reading and writing: the methods that streams and their halves have in common, written once.

use super::{
    Family, OwnedReadHalf, OwnedWriteHalf, ReadHalf, RecvBuf, Stream, WriteHalf,
    stream::{Recv, Send},
};
use std::{
    future::poll_fn,
    io::{self, IoSlice},
    net::Shutdown,
    task::{Context, Poll},
};

macro_rules! reading {
    ($($head:tt)+) => {
        $($head)+ {
            /// Copies received bytes into `into`; 0 is the end of the stream. Dropping the future loses nothing.
            pub async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_read(cx, into)).await
            }

            /// As `read`, for hand-written futures and adapters.
            #[inline]
            pub fn poll_read(&mut self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
                self.link().poll_read(cx, into)
            }

            /// Fills `into` completely, or fails with `UnexpectedEof`. Not cancel-safe: a dropped future has read what
            /// it had.
            pub async fn read_exact(&mut self, mut into: &mut [u8]) -> io::Result<()> {
                while !into.is_empty() {
                    match self.read(into).await? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        len => into = &mut into[len..],
                    }
                }
                Ok(())
            }

            /// Lends what was received, without a copy; an empty lease is the end of the stream. Dropping the future
            /// loses nothing.
            #[inline]
            pub fn recv(&mut self) -> Recv<'_> {
                Recv { link: self.link() }
            }

            /// As `recv`, for hand-written futures and adapters.
            #[inline(always)]
            pub fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<io::Result<RecvBuf>> {
                self.link().poll_recv(cx)
            }
        }
    };
}

macro_rules! writing {
    ($($head:tt)+) => {
        $($head)+ {
            /// Sends a lease, without a copy. Returns when the kernel or its queue has it, one send at a time: an error
            /// shows on the next call, and [`flush`](Self::flush) waits for the end.
            #[inline]
            pub fn send(&mut self, lease: RecvBuf) -> Send<'_> {
                Send { link: self.link(), lease: Some(lease) }
            }

            /// As `send`, for hand-written futures and adapters: takes the lease when it is ready.
            ///
            /// # Panics
            /// If there is no lease.
            #[inline(always)]
            pub fn poll_send(&mut self, cx: &Context<'_>, lease: &mut Option<RecvBuf>) -> Poll<io::Result<()>> {
                self.link().poll_send(cx, lease)
            }

            /// Writes some of `bytes`, at least one byte. Returns when they are copied or taken, not when they have been
            /// sent.
            pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_write(cx, bytes)).await
            }

            /// As `write`, for hand-written futures and adapters.
            #[inline(always)]
            pub fn poll_write(&mut self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                self.link().poll_write(cx, bytes)
            }

            /// Writes all of `bytes`. Not cancel-safe: a dropped future has written what it had.
            pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
                while !bytes.is_empty() {
                    let len = self.write(bytes).await?;
                    bytes = &bytes[len..];
                }
                Ok(())
            }

            /// Writes some of `pieces`, one after the other, as one send: at least one byte, unless all are empty.
            pub async fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_write_vectored(cx, pieces)).await
            }

            /// As `write_vectored`, for hand-written futures and adapters.
            pub fn poll_write_vectored(
                &mut self,
                cx: &Context<'_>,
                pieces: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.link().poll_write_vectored(cx, pieces)
            }

            /// Writes all of `pieces`, and advances them past what has been written. Not cancel-safe, as `write_all`.
            pub async fn write_all_vectored(&mut self, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
                // Takes the empty ones at the front away: what is left is something to write.
                IoSlice::advance_slices(&mut pieces, 0);
                while !pieces.is_empty() {
                    let len = self.write_vectored(pieces).await?;
                    IoSlice::advance_slices(&mut pieces, len);
                }
                Ok(())
            }

            /// Waits until the kernel has taken everything written so far.
            pub async fn flush(&mut self) -> io::Result<()> {
                poll_fn(|cx| self.poll_flush(cx)).await
            }

            /// As `flush`, for hand-written futures and adapters.
            #[inline]
            pub fn poll_flush(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
                self.link().poll_flush(cx)
            }

            /// Shuts one or both directions down, the write direction after everything written has gone.
            pub async fn shutdown(&mut self, how: Shutdown) -> io::Result<()> {
                poll_fn(|cx| self.poll_shutdown(cx, how)).await
            }

            /// As `shutdown`, for hand-written futures and adapters.
            pub fn poll_shutdown(&mut self, cx: &Context<'_>, how: Shutdown) -> Poll<io::Result<()>> {
                self.link().poll_shutdown(cx, how)
            }
        }
    };
}

reading!(impl<F: Family> Stream<F>);
reading!(impl<F: Family> ReadHalf<'_, F>);
reading!(impl<F: Family> OwnedReadHalf<F>);

writing!(impl<F: Family> Stream<F>);
writing!(impl<F: Family> WriteHalf<'_, F>);
writing!(impl<F: Family> OwnedWriteHalf<F>);
