//! Reading and writing: the methods that streams and their halves share.

use super::stream::{RecvFuture, SendFuture};
use super::{Family, OwnedReadHalf, OwnedWriteHalf, ReadHalf, RecvBuf, Stream, WriteHalf};
use std::io::{self, IoSlice};
use std::task::{Context, Poll};
use std::{future::poll_fn, net::Shutdown};

macro_rules! reading {
    ($($head:tt)+) => {
        $($head)+ {
            /// Copies received bytes into `into`; 0 is the end of the stream. Cancel-safe.
            pub async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_read(cx, into)).await
            }

            /// Poll form of `read`.
            #[inline]
            pub fn poll_read(&mut self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
                self.conn().poll_read(cx, into)
            }

            /// Fills `into` completely. Not cancel-safe: a dropped future has consumed what it read.
            ///
            /// # Errors
            /// `UnexpectedEof` if the stream ends before.
            pub async fn read_exact(&mut self, mut into: &mut [u8]) -> io::Result<()> {
                while !into.is_empty() {
                    match self.read(into).await? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        len => into = &mut into[len..],
                    }
                }
                Ok(())
            }

            /// Lends the next received segment without a copy; an empty one is the end of the stream. Cancel-safe.
            #[inline]
            pub fn recv(&mut self) -> RecvFuture<'_> {
                RecvFuture { conn: self.conn() }
            }

            /// Poll form of `recv`.
            #[inline(always)]
            pub fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<io::Result<RecvBuf>> {
                self.conn().poll_recv(cx)
            }
        }
    };
}

macro_rules! writing {
    ($($head:tt)+) => {
        $($head)+ {
            /// Sends a received buffer without a copy. Returns when the bytes are queued, one send at a time: an error is
            /// returned by the next call, and [`flush`](Self::flush) waits for the end.
            #[inline]
            pub fn send(&mut self, buffer: RecvBuf) -> SendFuture<'_> {
                SendFuture { conn: self.conn(), buffer: Some(buffer) }
            }

            /// Poll form of `send`: takes the buffer when ready.
            ///
            /// # Panics
            /// If there is no buffer.
            #[inline(always)]
            pub fn poll_send(&mut self, cx: &Context<'_>, buffer: &mut Option<RecvBuf>) -> Poll<io::Result<()>> {
                self.conn().poll_send(cx, buffer)
            }

            /// Writes some of `bytes`, at least one byte. Returns when they are copied or queued, before they are sent.
            pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_write(cx, bytes)).await
            }

            /// Poll form of `write`.
            #[inline(always)]
            pub fn poll_write(&mut self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                self.conn().poll_write(cx, bytes)
            }

            /// Writes all of `bytes`. Not cancel-safe: a dropped future may have written a part.
            pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
                while !bytes.is_empty() {
                    let len = self.write(bytes).await?;
                    bytes = &bytes[len..];
                }
                Ok(())
            }

            /// Writes some of `slices` in order, as one send: at least one byte, unless all are empty.
            pub async fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
                poll_fn(|cx| self.poll_write_vectored(cx, slices)).await
            }

            /// Poll form of `write_vectored`.
            pub fn poll_write_vectored(
                &mut self,
                cx: &Context<'_>,
                slices: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.conn().poll_write_vectored(cx, slices)
            }

            /// Writes all of `slices`, advancing them past what is written. Not cancel-safe, as `write_all`.
            pub async fn write_all_vectored(&mut self, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
                // Removes empty slices at the front, so the rest has something to write.
                IoSlice::advance_slices(&mut slices, 0);
                while !slices.is_empty() {
                    let len = self.write_vectored(slices).await?;
                    IoSlice::advance_slices(&mut slices, len);
                }
                Ok(())
            }

            /// Waits until the kernel has taken everything written so far.
            pub async fn flush(&mut self) -> io::Result<()> {
                poll_fn(|cx| self.poll_flush(cx)).await
            }

            /// Poll form of `flush`.
            #[inline]
            pub fn poll_flush(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
                self.conn().poll_flush(cx)
            }

            /// Shuts down one or both directions, the write direction after everything written has been sent.
            pub async fn shutdown(&mut self, how: Shutdown) -> io::Result<()> {
                poll_fn(|cx| self.poll_shutdown(cx, how)).await
            }

            /// Poll form of `shutdown`.
            pub fn poll_shutdown(&mut self, cx: &Context<'_>, how: Shutdown) -> Poll<io::Result<()>> {
                self.conn().poll_shutdown(cx, how)
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
