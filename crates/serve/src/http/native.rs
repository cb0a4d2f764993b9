//! Our own runtime: a thread, a ring (or an epoll set) and its listeners a core, a task a connection.

use super::{
    Server,
    connection::Stream,
    conversation::{Addrs, Endpoint},
    worker::Worker,
    worker_loop::{self, Model},
};
use crate::{Notice, ServeError, tcp::native::builder};
use brunt_runtime::{
    BackendKind, CancellationToken, JoinHandle,
    net::{RecvBuf, TcpListener, TcpStream},
};
use std::{
    future::Future,
    io,
    net::{Ipv4Addr, Shutdown, SocketAddr},
    rc::Rc,
    sync::{Mutex, PoisonError, mpsc},
    task::{Context, Poll},
    time::Duration,
};

/// Runs the server; returns how many connections were left at its end.
pub(crate) fn run(
    server: &Server,
    backend: BackendKind,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<u64, ServeError> {
    let builder = builder(backend, server.options.spin);
    let mut listeners = Vec::new();
    for _ in &server.options.workers {
        listeners.push(Mutex::new(server.listeners()?));
    }
    // If one worker cannot serve, none shall.
    let stop = &stop.child_token();
    let results = brunt_runtime::group::run(&builder, &server.options.workers, |number| {
        let listeners = std::mem::take(&mut *listeners[number].lock().unwrap_or_else(PoisonError::into_inner));
        async move {
            // All workers are set up by now, and all sockets listen.
            if number == 0 {
                let _ = notices.send(server.notice(backend.to_string()));
            }
            let worker = Rc::new(Worker::new(&server.shared, number));
            let left = worker_loop::run::<Native>(listeners, worker, stop, server.options.grace).await;
            left.inspect_err(|_| stop.cancel())
        }
    });
    let mut left = 0;
    for result in results {
        left += result.and_then(|left| left).map_err(ServeError::Worker)?;
    }
    Ok(left)
}

enum Native {}

impl Model for Native {
    type Stream = TcpStream;
    type Listener = TcpListener;
    type Task = JoinHandle<()>;

    fn listen(listener: std::net::TcpListener) -> io::Result<TcpListener> {
        TcpListener::from_std(listener)
    }

    fn accept(listener: &TcpListener) -> impl Future<Output = io::Result<TcpStream>> {
        listener.accept()
    }

    fn spawn(task: impl Future<Output = ()> + 'static) -> JoinHandle<()> {
        brunt_runtime::spawn(task)
    }

    fn abort(task: &JoinHandle<()>) {
        task.abort();
    }
}

impl Stream for TcpStream {
    type RecvBuf = RecvBuf;

    #[inline]
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<RecvBuf>> {
        TcpStream::poll_recv(self, cx)
    }

    #[inline]
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        TcpStream::poll_write(self, cx, bytes)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        TcpStream::poll_flush(self, cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        TcpStream::poll_shutdown(self, cx, Shutdown::Write)
    }

    fn reset_when_closed(&self) {
        // A connection that has ended already has nothing to reset.
        let _ = self.set_linger_zero();
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        brunt_runtime::time::sleep(duration)
    }
}

impl Endpoint for TcpStream {
    fn addrs(&self) -> Addrs {
        // One that is gone has no address any more.
        let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        Addrs { peer: self.peer_addr().unwrap_or(nobody), local: self.local_addr().unwrap_or(nobody) }
    }
}
