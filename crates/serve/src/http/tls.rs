//! Connections over TLS: the handshake, within the deadline of a request head, and TLS as a [`ServerTransport`].

use super::connection::{self, ServerTransport};
use super::conversation::{Addrs, Endpoint};
use super::deadlines::Phase;
use super::worker::{ConnectionGuard, Worker};
use brunt_tls::{Acceptor, Cause, TlsError, Transport};
use std::task::{Context, Poll, ready};
use std::{future::poll_fn, io, rc::Rc, time::Duration};

/// Completes the TLS handshake, then serves the connection to its end.
pub(crate) async fn serve<S: ServerTransport>(stream: S, listener: u16, worker: Rc<Worker>, acceptor: Acceptor) {
    if let Some(stream) = Box::pin(handshake(stream, &worker, &acceptor)).await {
        connection::serve(stream, listener, worker).await;
    }
}

async fn handshake<S: ServerTransport>(stream: S, worker: &Rc<Worker>, acceptor: &Acceptor) -> Option<Tls<S>> {
    let guard = ConnectionGuard::new(worker.clone());
    // The handshake has the deadline of a request head, counted from the accept.
    worker.deadlines.begin(&guard.entry, Phase::Head);
    let shaken = match brunt_tls::Stream::server(stream, acceptor) {
        Ok(mut stream) => poll_fn(|cx| {
            guard.entry.set_waker(cx.waker());
            match stream.poll_handshake(cx) {
                Poll::Pending if guard.has_expired() => {
                    worker.counters.late.add(1);
                    Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
                }
                polled => polled,
            }
        })
        .await
        .map(|()| stream),
        Err(error) => Err(error),
    };
    let Ok(stream) = shaken else {
        worker.counters.handshakes_failed.add(1);
        return None;
    };
    let resumed = stream.handshake_info().is_some_and(|info| info.resumed);
    let counters = &worker.counters;
    if resumed { &counters.handshakes_resumed } else { &counters.handshakes_full }.add(1);
    Some(Tls(stream))
}

/// A model's stream with TLS on it.
struct Tls<S: ServerTransport>(brunt_tls::Stream<S>);

impl<S: ServerTransport> Transport for Tls<S> {
    type RecvBuf = Vec<u8>;

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        match ready!(self.0.poll_recv(cx)) {
            // Many clients close without close_notify. A truncated request is detected by its own length.
            Err(error) if TlsError::of(&error).is_some_and(|error| error.cause == Cause::UnexpectedEof) => {
                Poll::Ready(Ok(Vec::new()))
            }
            received => Poll::Ready(received),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }
}

impl<S: ServerTransport> ServerTransport for Tls<S> {
    const NEEDS_CLOSE_NOTIFY: bool = true;

    fn poll_write_raw(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.0.poll_flush_records(cx))?;
        self.0.transport_mut().poll_write(cx, bytes)
    }

    fn poll_close_notify(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_close_notify(cx)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.0.poll_flush_records(cx))?;
        self.0.transport_mut().poll_flush(cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.0.poll_close_notify(cx))?;
        self.0.transport_mut().poll_shutdown(cx)
    }

    fn reset_when_closed(&self) {
        self.0.transport().reset_when_closed();
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        S::sleep(duration)
    }
}

impl<S: ServerTransport> Endpoint for Tls<S> {
    fn addrs(&self) -> Addrs {
        self.0.transport().addrs()
    }
}
