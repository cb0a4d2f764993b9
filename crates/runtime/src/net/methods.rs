//! Reading and writing: the methods that streams and their halves share.

use super::stream::{RecvFuture, SendFuture};
use super::{Family, OwnedReadHalf, OwnedWriteHalf, ReadHalf, RecvBuf, Stream, WriteHalf};
use std::io::{self, IoSlice};
use std::task::{Context, Poll};
use std::{future::poll_fn, net::Shutdown};

/// Defines an async method and its poll form, which calls that of the connection.
macro_rules! both_forms {
    ($(#[$doc:meta])* $name:ident, $poll:ident($($arg:ident: $type:ty)?) -> $output:ty) => {
        $(#[$doc])*
        pub async fn $name(&mut self $(, $arg: $type)?) -> io::Result<$output> {
            poll_fn(|cx| self.$poll(cx $(, $arg)?)).await
        }

        #[doc = concat!("Poll form of `", stringify!($name), "`.")]
        #[inline(always)]
        pub fn $poll(&mut self, cx: &Context<'_> $(, $arg: $type)?) -> Poll<io::Result<$output>> {
            self.conn().$poll(cx $(, $arg)?)
        }
    };
}

macro_rules! reading {
    ($($head:tt)+) => {
        $($head)+ {
            both_forms! {
                /// Copies received bytes into `into`; 0 is the end of the stream. Cancel-safe.
                read, poll_read(into: &mut [u8]) -> usize
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

            both_forms! {
                /// Writes some of `bytes`, at least one byte. Returns when they are copied or queued, before they are sent.
                write, poll_write(bytes: &[u8]) -> usize
            }

            /// Writes all of `bytes`. Not cancel-safe: a dropped future may have written a part.
            pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
                while !bytes.is_empty() {
                    let len = self.write(bytes).await?;
                    bytes = &bytes[len..];
                }
                Ok(())
            }

            both_forms! {
                /// Writes some of `slices` in order, as one send: at least one byte, unless all are empty.
                write_vectored, poll_write_vectored(slices: &[IoSlice<'_>]) -> usize
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

            both_forms! {
                /// Waits until the kernel has taken everything written so far.
                flush, poll_flush() -> ()
            }

            both_forms! {
                /// Shuts down one or both directions, the write direction after everything written has been sent.
                shutdown, poll_shutdown(how: Shutdown) -> ()
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
