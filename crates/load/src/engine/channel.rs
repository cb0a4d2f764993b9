//! What a protocol talks over: a socket, or something that makes one secret.
//!
//! A type parameter, not an object: what one of them needs costs the requests of the other nothing.

use crate::measure::recorder::Failure;
use brunt_runtime::net::{RecvBuf, TcpStream};
use std::{
    io,
    ops::Deref,
    task::{Context, Poll},
};

/// Bytes both ways.
pub trait Channel {
    /// Received bytes, which need not be kept.
    type RecvBuf: Deref<Target = [u8]>;

    /// Received bytes; none at the end.
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Self::RecvBuf>>;
    /// Takes at least one byte.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;
    /// What an error of either means for the requests under way.
    fn failure(&self, error: &io::Error) -> Failure;
}

impl Channel for TcpStream {
    type RecvBuf = RecvBuf;

    #[inline(always)]
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<RecvBuf>> {
        TcpStream::poll_recv(self, cx)
    }

    #[inline(always)]
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        TcpStream::poll_write(self, cx, bytes)
    }

    #[inline(always)]
    fn failure(&self, _: &io::Error) -> Failure {
        Failure::Reset
    }
}
