//! Connections over TLS: the handshake, within the deadline of a head, and then what every connection does.

use super::{
    connection::{self, Stream},
    conversation::{Addrs, Endpoint},
    deadlines::Phase,
    worker::{ConnectionGuard, Worker},
};
use brunt_tls::{Carrier, Cause, Fault};
use std::{
    future::{Future, poll_fn},
    io,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

/// Serves a connection to its end, if it makes itself secret first.
pub(crate) async fn serve<S: Stream>(stream: S, listener: u16, worker: Rc<Worker>, server: brunt_tls::Server) {
    if let Some(secure) = Box::pin(greet(stream, &worker, &server)).await {
        connection::serve(secure, listener, worker).await;
    }
}

async fn greet<S: Stream>(stream: S, worker: &Rc<Worker>, server: &brunt_tls::Server) -> Option<Secure<S>> {
    let guard = ConnectionGuard::take(worker.clone());
    // Nothing at all is as much too slow as half a greeting.
    worker.deadlines.begin(&guard.note, Phase::Head);
    let greeted = match brunt_tls::Stream::server(Records(stream), server) {
        Ok(mut stream) => poll_fn(|cx| {
            guard.note.watch(cx.waker());
            match stream.poll_greet(cx) {
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
    let Ok(stream) = greeted else {
        worker.counters.handshakes_failed.add(1);
        return None;
    };
    let resumed = stream.greeting().is_some_and(|greeting| greeting.resumed);
    let counters = &worker.counters;
    if resumed { &counters.handshakes_resumed } else { &counters.handshakes_full }.add(1);
    Some(Secure(stream))
}

/// A model's stream as what carries records.
struct Records<S>(S);

impl<S: Stream> Carrier for Records<S> {
    type RecvBuf = S::RecvBuf;

    #[inline]
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<S::RecvBuf>> {
        self.0.poll_recv(cx)
    }

    #[inline]
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }
}

/// A model's stream with TLS on it.
struct Secure<S: Stream>(brunt_tls::Stream<Records<S>>);

impl<S: Stream> Stream for Secure<S> {
    type RecvBuf = Vec<u8>;

    const TAKES_LEAVE: bool = true;

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        match ready!(self.0.poll_recv(cx)) {
            // Many clients just go. A request that is cut off is seen by its own length.
            Err(error) if Fault::of(&error).is_some_and(|fault| fault.cause == Cause::Cut) => {
                Poll::Ready(Ok(Vec::new()))
            }
            received => Poll::Ready(received),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }

    fn poll_write_beneath(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.0.poll_out(cx))?;
        self.0.carrier_mut().0.poll_write(cx, bytes)
    }

    fn poll_leave(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_close(cx)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.0.poll_out(cx))?;
        self.0.carrier_mut().0.poll_flush(cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.0.poll_close(cx))?;
        self.0.carrier_mut().0.poll_shutdown(cx)
    }

    fn reset_when_closed(&self) {
        self.0.carrier().0.reset_when_closed();
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        S::sleep(duration)
    }
}

impl<S: Stream> Endpoint for Secure<S> {
    fn addrs(&self) -> Addrs {
        self.0.carrier().0.addrs()
    }
}
