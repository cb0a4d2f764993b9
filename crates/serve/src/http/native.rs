//! brunt's runtime: per core a thread, a ring (or an epoll set) and its listeners; a task per connection.

use super::connection::ServerTransport;
use super::conversation::{Addrs, Endpoint};
use super::shared::ServerContext;
use super::worker::Worker;
use super::worker_loop::{self, Model};
use crate::{Notice, ServeError, lock, tcp::native::builder};
use brunt_runtime::net::{RecvBuf, TcpListener, TcpStream};
use brunt_runtime::{BackendKind, CancellationToken};
use brunt_tls::Transport;
use std::sync::{Mutex, mpsc};
use std::task::{Context, Poll};
use std::{io, net::Shutdown, rc::Rc, time::Duration};

/// Runs the server. Returns the number of connections closed at its end.
pub(crate) fn run(
    context: &ServerContext,
    backend: BackendKind,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<u64, ServeError> {
    let builder = builder(backend, context.options.spin);
    let mut listeners = Vec::new();
    for _ in &context.options.workers {
        listeners.push(Mutex::new(context.listeners()?));
    }
    // An error of one worker stops all.
    let stop = &stop.child_token();
    let results = brunt_runtime::group::run(&builder, &context.options.workers, |number| {
        let listeners = std::mem::take(&mut *lock(&listeners[number]));
        async move {
            // All workers are set up and all sockets listen.
            if number == 0 {
                let _ = notices.send(context.listening(backend.to_string()));
            }
            let worker = Rc::new(Worker::new(&context.shared, number));
            let left = worker_loop::run::<Native>(listeners, worker, stop, context.options.grace).await;
            left.inspect_err(|_| stop.cancel())
        }
    });
    results.into_iter().try_fold(0, |left, result| Ok(left + result??))
}

/// As [`run`], on workers of the simulated world of this thread.
#[cfg(feature = "sim")]
pub(crate) async fn run_in_world(
    context: &ServerContext,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<u64, ServeError> {
    let builder = builder(BackendKind::Uring, context.options.spin);
    let stop = &stop.child_token();
    let mut workers = Vec::new();
    for number in 0..context.options.workers.len() {
        let (listeners, shared) = (context.listeners()?, context.shared.clone());
        let (stop, grace) = (stop.clone(), context.options.grace);
        let body = move || async move {
            let worker = Rc::new(Worker::new(&shared, number));
            let left = worker_loop::run::<Native>(listeners, worker, &stop, grace).await;
            left.inspect_err(|_| stop.cancel())
        };
        workers.push(brunt_runtime::group::spawn(&builder, &format!("worker-{number}"), None, body)?);
    }
    let _ = notices.send(context.listening(BackendKind::Uring.to_string()));
    let mut left = 0;
    for worker in workers {
        left += worker.await.expect("a worker has panicked")?;
    }
    Ok(left)
}

enum Native {}

impl Model for Native {
    type Stream = Socket;
    type Listener = TcpListener;

    fn listen(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        TcpListener::from_std(listener)
    }

    async fn accept(listener: &TcpListener) -> io::Result<Socket> {
        listener.accept().await.map(Socket)
    }

    fn spawn(task: impl Future<Output = ()> + 'static) -> impl FnOnce() {
        let task = brunt_runtime::spawn(task);
        move || task.abort()
    }
}

pub(crate) struct Socket(TcpStream);

impl Transport for Socket {
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

impl ServerTransport for Socket {
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_flush(cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_shutdown(cx, Shutdown::Write)
    }

    fn reset_when_closed(&self) {
        // Fails if the connection has ended: there is nothing to reset.
        let _ = self.0.set_linger_zero();
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        brunt_runtime::time::sleep(duration)
    }
}

impl Endpoint for Socket {
    fn addrs(&self) -> Addrs {
        Addrs::new(self.0.peer_addr(), self.0.local_addr())
    }
}
