//! The socket as a [`Transport`], and what an error of any transport means.

use crate::measure::recorder::Failure;
use brunt_runtime::net::{RecvBuf, TcpStream};
use brunt_tls::{Cause, TlsError, Transport};
use std::{
    io,
    task::{Context, Poll},
};

/// A connection without TLS.
pub struct Socket(pub TcpStream);

impl Transport for Socket {
    type RecvBuf = RecvBuf;

    #[inline(always)]
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<RecvBuf>> {
        self.0.poll_recv(cx)
    }

    #[inline(always)]
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }
}

/// What an error of receiving means for the requests in flight.
#[cold]
pub fn failure(error: &io::Error) -> Failure {
    match TlsError::of(error).map(|error| error.cause) {
        None | Some(Cause::UnexpectedEof) => Failure::Reset,
        Some(Cause::Identity) => Failure::Connect,
        Some(_) => Failure::Protocol,
    }
}
