//! TLS on a socket of the load. The handshake is part of connecting, and is measured.

use super::HttpProtocol;
use crate::engine::{shared::Shared, transport::Socket, worker::Worker};
use brunt_runtime::time;
use brunt_tls::{Connector, Stream, Transport};
use std::{future::poll_fn, io, task::Poll, time::Duration};

/// Time for a target that requested a client certificate to reject it.
const REJECT_TIMEOUT: Duration = Duration::from_millis(200);

/// Completes the handshake, and records its duration and outcome.
pub(super) async fn handshake(
    socket: Socket,
    connector: &Connector,
    worker: &Worker<HttpProtocol>,
) -> io::Result<Stream<Socket>> {
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
pub(super) async fn closed(stream: &mut Stream<Socket>) {
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
