//! The socket of a connection of the load, and the kinds of transport errors.

use super::{trace::Trace, tunnel, worker::Worker};
use crate::measure::recorder::Failure;
use brunt_runtime::net::{Any, RecvBuf, Stream};
use brunt_runtime::os_error;
use brunt_spec::OnOff;
use brunt_tls::{Cause, TlsError, Transport};
use std::io;
use std::task::{Context, Poll};

/// A connection without TLS.
pub struct Socket(pub Stream<Any>);

/// Number of connections above which they are closed by a reset: as many ports in TIME_WAIT, of 28,232 by default, would
/// prevent the next run from connecting for a minute.
const RESET_ABOVE: usize = 10_000;

impl Socket {
    /// Opens connection `index` of the worker, through a proxy if its host has one. Calls [`Worker::accepted`] once the target has accepted it.
    pub async fn connect<P>(worker: &Worker<P>, index: u32, trace: &mut impl Trace) -> io::Result<Self> {
        let stream =
            Stream::<Any>::connect_from(worker.address(index), worker.source()).await.map_err(of_the_kernel)?;
        if worker.share.connections > RESET_ABOVE {
            stream.set_linger_zero()?;
        }
        if worker.shared.options.direct.nodelay == Some(OnOff::Off) {
            stream.set_nodelay(false)?;
        }
        trace.connected();
        let mut socket = Self(stream);
        if let Some(tunnel) = worker.shared.options.target.tunnel(worker.host(index)) {
            // Boxed, to keep connecting without a proxy small.
            Box::pin(tunnel::open(&mut socket, tunnel)).await?;
            trace.tunnelled(tunnel.authority());
        }
        worker.accepted(index);
        Ok(socket)
    }

    /// Sends all of a received buffer without a copy; false if it cannot be sent now, and is dropped.
    #[inline(always)]
    pub fn poll_send_back(&mut self, cx: &mut Context<'_>, buffer: RecvBuf) -> bool {
        matches!(self.0.poll_send(cx, &mut Some(buffer)), Poll::Ready(Ok(())))
    }
}

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

/// Failure of the requests in flight after an error of receiving.
#[cold]
pub fn failure(error: &io::Error) -> Failure {
    match TlsError::of(error).map(|error| error.cause) {
        None | Some(Cause::UnexpectedEof) => Failure::Reset,
        Some(Cause::Identity) => Failure::Connect,
        Some(_) => Failure::Protocol,
    }
}

/// The error without the address, which the reports of a load name.
#[cold]
fn of_the_kernel(error: io::Error) -> io::Error {
    os_error(&error).map_or(error, io::Error::from_raw_os_error)
}
