//! Sockets as transports of the load, and the kinds of transport errors.

use super::worker::Worker;
use crate::{measure::recorder::Failure, options::Endpoint};
use brunt_runtime::net::{Family, RecvBuf, Stream, Tcp, TcpStream, Unix, UnixStream};
use brunt_tls::{Cause, TlsError, Transport};
use std::io;
use std::task::{Context, Poll};

/// A connection without TLS.
pub struct Socket<F: Family>(pub Stream<F>);

impl<F: Family> Transport for Socket<F> {
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

/// Number of connections above which they are closed by a reset: as many ports in TIME_WAIT, of 28,232 by default, would
/// prevent the next run from connecting for a minute.
const RESET_ABOVE: usize = 10_000;

/// A transport that can be opened without a handshake of its own.
pub trait Connect: Transport + Sized + 'static {
    /// Opens connection `index` of the worker. Calls [`Worker::accepted`] once the target has accepted it.
    fn connect<P>(worker: &Worker<P>, index: u32) -> impl Future<Output = io::Result<Self>>;
}

impl Connect for Socket<Tcp> {
    async fn connect<P>(worker: &Worker<P>, index: u32) -> io::Result<Self> {
        let Endpoint::Ip(address) = worker.endpoint(index) else { return Err(io::ErrorKind::Unsupported.into()) };
        let stream = TcpStream::connect_from(*address, worker.source()).await?;
        if worker.share.connections > RESET_ABOVE {
            stream.set_linger_zero()?;
        }
        worker.accepted(index);
        Ok(Self(stream))
    }
}

impl Connect for Socket<Unix> {
    async fn connect<P>(worker: &Worker<P>, index: u32) -> io::Result<Self> {
        let Endpoint::Unix(path) = worker.endpoint(index) else { return Err(io::ErrorKind::Unsupported.into()) };
        let stream = UnixStream::connect(path).await?;
        worker.accepted(index);
        Ok(Self(stream))
    }
}

/// A transport that can send a received buffer without a copy.
pub trait SendBack: Transport {
    /// Sends all of `buffer`; false if it cannot be sent now, and is dropped.
    fn poll_send_back(&mut self, cx: &mut Context<'_>, buffer: Self::RecvBuf) -> bool;
}

impl<F: Family> SendBack for Socket<F> {
    #[inline(always)]
    fn poll_send_back(&mut self, cx: &mut Context<'_>, buffer: RecvBuf) -> bool {
        matches!(self.0.poll_send(cx, &mut Some(buffer)), Poll::Ready(Ok(())))
    }
}

/// Failure of the requests in flight after an error of receiving.
#[cold]
pub fn failure(error: &io::Error) -> Failure {
    match TlsError::of(error).map(|error| error.cause) {
        None | Some(Cause::UnexpectedEof) => Failure::Reset,
        Some(Cause::Identity) => Failure::Connect,
        Some(_) => Failure::Protocol,
    }
}
