//! TLS on a socket of the load. The handshake is a part of connecting, and is timed.

use super::HttpProtocol;
use crate::{
    engine::{channel::Channel, shared::Shared, worker::Worker},
    measure::recorder::Failure,
};
use brunt_runtime::{
    net::{RecvBuf, TcpStream},
    time,
};
use brunt_tls::{Carrier, Cause, Client, Fault, Stream};
use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
    time::Duration,
};

/// How long a target that has asked for a certificate has to say that it does not like it.
const PATIENCE: Duration = Duration::from_millis(200);

/// See the head of this file.
pub struct Secure(Stream<Socket>);

impl Secure {
    /// Shakes hands; notes how long that took and what it came to.
    pub(super) async fn greet(stream: TcpStream, client: &Client, worker: &Worker<HttpProtocol>) -> io::Result<Self> {
        let begun = worker.clock.now();
        let vain = Vain(&worker.shared);
        let mut stream = Stream::client(Socket(stream), client)?;
        poll_fn(|cx| stream.poll_greet(cx)).await?;
        let took = worker.clock.now() - begun;
        // In TLS 1.3 the target's opinion of our certificate comes later. It must not look as if requests had failed; but
        // once the load has begun, only a request can wait for it.
        if client.was_asked() && !worker.shared.go.is_cancelled() {
            let heard = time::timeout(PATIENCE, poll_fn(|cx| stream.poll_hear(cx))).await;
            heard.unwrap_or(Ok(()))?;
        }
        if let Some(greeting) = stream.greeting() {
            std::mem::forget(vain);
            worker.shared.handshakes().made(took, &greeting);
        }
        Ok(Self(stream))
    }

    /// Waits until the target has closed. Some do so only when they have heard that we end, too.
    pub(super) async fn end(&mut self) {
        let stream = &mut self.0;
        while poll_fn(|cx| stream.poll_recv(cx)).await.is_ok_and(|bytes| !bytes.is_empty()) {}
        poll_fn(|cx| {
            while let Poll::Ready(received) = stream.carrier_mut().poll_recv(cx) {
                if received.map_or(true, |lease| lease.is_empty()) {
                    return Poll::Ready(());
                }
            }
            // If it cannot be told, it has gone, and the next look says so.
            let _ = stream.poll_close(cx);
            Poll::Pending
        })
        .await
    }

    /// The socket.
    pub(super) fn socket(&self) -> &TcpStream {
        &self.0.carrier().0
    }
}

/// A handshake that comes to nothing if it is dropped, as one is that takes too long.
struct Vain<'s>(&'s Shared);

impl Drop for Vain<'_> {
    fn drop(&mut self) {
        self.0.handshakes().failed();
    }
}

struct Socket(TcpStream);

impl Carrier for Socket {
    type RecvBuf = RecvBuf;

    #[inline]
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<RecvBuf>> {
        self.0.poll_recv(cx)
    }

    #[inline]
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }
}

impl Channel for Secure {
    type RecvBuf = Vec<u8>;

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        self.0.poll_recv(cx)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }

    #[cold]
    fn failure(&self, error: &io::Error) -> Failure {
        match Fault::of(error).map(|fault| fault.cause) {
            None | Some(Cause::Cut) => Failure::Reset,
            Some(Cause::Identity) => Failure::Connect,
            Some(_) => Failure::Protocol,
        }
    }
}
