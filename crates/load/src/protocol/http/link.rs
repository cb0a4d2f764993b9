//! An open connection of the load, with or without TLS. The handshake is part of connecting, and is measured.

use super::HttpProtocol;
use crate::engine::{shared::Shared, trace::Trace, transport::Socket, worker::Worker};
use brunt_runtime::{net, time};
use brunt_tls::{Connector, Stream, Transport};
use std::{future::poll_fn, io, task::Poll, time::Duration};

/// Time for a target that requested a client certificate to reject it.
const REJECT_TIMEOUT: Duration = Duration::from_millis(200);

pub enum Link {
    Plain(Socket),
    /// Boxed, to keep plain connections small.
    Tls(Box<Stream<Socket>>),
}

impl Link {
    /// Opens connection `index` and completes its TLS handshake, if there is one.
    pub(super) async fn open(worker: &Worker<HttpProtocol>, index: u32, trace: &mut impl Trace) -> io::Result<Self> {
        let socket = Socket::connect(worker, index, trace).await?;
        let connector = worker.core.borrow().protocol.tls(worker.host(index) as u32);
        match connector {
            None => Ok(Self::Plain(socket)),
            Some(connector) => {
                let stream = Box::pin(handshake(socket, &connector, worker)).await?;
                trace.secured(stream.handshake_info());
                Ok(Self::Tls(Box::new(stream)))
            }
        }
    }

    pub(super) async fn closed(&mut self) {
        match self {
            Self::Plain(Socket(stream)) => while stream.recv().await.is_ok_and(|bytes| !bytes.is_empty()) {},
            Self::Tls(stream) => tls_closed(stream).await,
        }
    }

    pub(super) fn socket(&self) -> &net::Stream<net::Any> {
        match self {
            Self::Plain(Socket(stream)) => stream,
            Self::Tls(stream) => &stream.transport().0,
        }
    }
}

/// Completes the handshake, and records its duration and outcome.
async fn handshake(socket: Socket, connector: &Connector, worker: &Worker<HttpProtocol>) -> io::Result<Stream<Socket>> {
    let begun = worker.clock.now();
    let guard = FailureGuard(&worker.shared);
    let mut stream = Stream::client(socket, connector)?;
    poll_fn(|cx| stream.poll_handshake(cx)).await?;
    let took = worker.clock.now() - begun;
    // In TLS 1.3 the target rejects a certificate after the client's handshake is complete. That must not count as failed
    // requests; but once the load has begun, only a request can wait for it.
    if connector.was_certificate_requested() && !worker.shared.go.is_cancelled() {
        let record = time::timeout(REJECT_TIMEOUT, poll_fn(|cx| stream.poll_read_record(cx))).await;
        record.unwrap_or(Ok(()))?;
    }
    if let Some(info) = stream.handshake_info() {
        std::mem::forget(guard);
        worker.shared.handshakes().completed(took, &info);
    }
    Ok(stream)
}

/// Waits until the target has closed. Some do so only after our `close_notify`.
async fn tls_closed(stream: &mut Stream<Socket>) {
    while poll_fn(|cx| stream.poll_recv(cx)).await.is_ok_and(|bytes| !bytes.is_empty()) {}
    poll_fn(|cx| {
        while let Poll::Ready(received) = stream.transport_mut().poll_recv(cx) {
            if received.map_or(true, |bytes| bytes.is_empty()) {
                return Poll::Ready(());
            }
        }
        // An error means that the target has closed, which the next `poll_recv` reports.
        let _ = stream.poll_close_notify(cx);
        Poll::Pending
    })
    .await
}

/// Counts a failed handshake when dropped, also if it is cancelled by a timeout.
struct FailureGuard<'s>(&'s Shared);

impl Drop for FailureGuard<'_> {
    fn drop(&mut self) {
        self.0.handshakes().failed();
    }
}
