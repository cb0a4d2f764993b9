//! TLS over a byte stream.

use crate::{Acceptor, Connector, HandshakeInfo, Session, TlsError};
use std::task::{Context, Poll, ready};
use std::{io, ops::DerefMut};

/// Plain text that is encrypted at once, at most.
const MAX_WRITE: usize = 64 << 10;

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

    /// Bytes read from the socket since the last call, given how many [`Self::poll_recv`] has returned since: records of TLS are
    /// longer than their plain text.
    fn read_since(&mut self, returned: usize) -> u64 {
        returned as u64
    }
}

/// TLS over a [`Transport`], for either end.
///
/// Records that the transport does not take are kept and sent with the next call, whatever that is. The end of the
/// transport without a `close_notify` is an error: it can be a truncation attack. A waiting stream holds no buffer.
///
/// Errors of TLS are a [`TlsError`] in an [`io::Error`]: see [`TlsError::of`].
pub struct Stream<T: Transport> {
    transport: T,
    session: Session,
    /// Decrypted, not returned yet.
    plain: Vec<u8>,
    /// Records to be sent; the first `sent` bytes have been.
    sealed: Vec<u8>,
    sent: usize,
    /// Bytes of records received since the last [`Transport::read_since`].
    read: u64,
    closed: bool,
}

impl<T: Transport> Stream<T> {
    /// The client's end; continue with [`Self::poll_handshake`].
    pub fn client(transport: T, connector: &Connector) -> io::Result<Self> {
        let mut sealed = Vec::new();
        let session = Session::client(connector, &mut sealed)?;
        Ok(Self { transport, session, plain: Vec::new(), sealed, sent: 0, read: 0, closed: false })
    }

    /// The server's end; continue with [`Self::poll_handshake`].
    pub fn server(transport: T, acceptor: &Acceptor) -> io::Result<Self> {
        let session = Session::server(acceptor)?;
        Ok(Self { transport, session, plain: Vec::new(), sealed: Vec::new(), sent: 0, read: 0, closed: false })
    }

    /// Drives the handshake to its end.
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let is_flushed = self.poll_flush_records(cx).map_err(closed_in_handshake)?.is_ready();
            if !self.session.is_handshaking() && is_flushed {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_read_record(cx)).map_err(closed_in_handshake)?;
        }
    }

    /// Receives and processes one piece of input, which may hold no plain text.
    pub fn poll_read_record(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut received = ready!(self.transport.poll_recv(cx))?;
        if received.is_empty() {
            let handshaking = self.session.is_handshaking();
            let error = if handshaking { TlsError::closed_in_handshake() } else { TlsError::unexpected_eof() };
            return Poll::Ready(Err(error.into()));
        }
        self.read += received.len() as u64;
        let processed = self.session.receive(&mut received, &mut self.plain, &mut self.sealed);
        Poll::Ready(processed.map_err(|error| {
            // The alert is best effort: the connection is lost either way.
            let _ = self.poll_flush_records(cx);
            error.into()
        }))
    }

    /// Sends what is encrypted and not sent yet.
    pub fn poll_flush_records(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.sealed.len() {
            self.sent += ready!(self.transport.poll_write(cx, &self.sealed[self.sent..]))?;
        }
        if self.sent > 0 {
            (self.sealed, self.sent) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }

    /// Sends `close_notify`, once.
    pub fn poll_close_notify(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.closed, true) {
            self.session.close_notify(&mut self.sealed);
        }
        self.poll_flush_records(cx)
    }

    pub fn handshake_info(&self) -> Option<HandshakeInfo> {
        self.session.handshake_info()
    }

    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The transport of the records; what is written to it directly bypasses TLS.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }
}

impl<T: Transport> Transport for Stream<T> {
    type RecvBuf = Vec<u8>;

    /// Returns plain text; an empty buffer after the peer's `close_notify`. An end without one is an error.
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        loop {
            if !self.plain.is_empty() || self.session.is_closed_by_peer() {
                return Poll::Ready(Ok(std::mem::take(&mut self.plain)));
            }
            // If this is pending, it wakes the task again.
            let _ = self.poll_flush_records(cx)?;
            ready!(self.poll_read_record(cx))?;
        }
    }

    /// Encrypts at least one byte, unless earlier records are still to be sent.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush_records(cx))?;
        let part = &bytes[..bytes.len().min(MAX_WRITE)];
        self.session.encrypt(part, &mut self.sealed)?;
        let _ = self.poll_flush_records(cx)?;
        Poll::Ready(Ok(part.len()))
    }

    fn read_since(&mut self, _: usize) -> u64 {
        std::mem::take(&mut self.read)
    }
}

fn closed_in_handshake(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => TlsError::closed_in_handshake().into(),
        _ => error,
    }
}
