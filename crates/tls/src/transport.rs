use std::io;
use std::ops::DerefMut;
use std::task::{Context, Poll};

/// A byte stream that is driven by polling: a socket, or TLS on one.
///
/// Used as a type parameter, so that connections without TLS do not pay for it.
pub trait Transport {
    /// Received bytes. Mutable, because records are decrypted in place.
    type RecvBuf: DerefMut<Target = [u8]>;

    /// Returns received bytes; an empty buffer is the end of the stream.
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Self::RecvBuf>>;

    /// Takes at least one of `bytes`, and returns how many.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;
}
