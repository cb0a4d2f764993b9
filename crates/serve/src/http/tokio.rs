//! Tokio: its current-thread runtime on each core, a task a connection, a buffer taken only while bytes are pending.

use super::{
    connection::ServerTransport,
    context::ServerContext,
    conversation::{Addrs, Endpoint},
    worker::Worker,
    worker_loop::{self, Model},
};
use crate::{Notice, ServeError};
use brunt_runtime::{CancellationToken, group::pin_to_core};
use brunt_tls::Transport;
use socket2::SockRef;
use std::{
    cell::RefCell,
    future::Future,
    io,
    net::{Ipv4Addr, SocketAddr},
    ops::{Deref, DerefMut},
    pin::Pin,
    rc::Rc,
    sync::mpsc,
    task::{Context, Poll, ready},
    thread,
    time::Duration,
};
use tokio::{
    io::AsyncWrite,
    net::{TcpListener, TcpStream},
    runtime::Builder,
    task::{JoinHandle, LocalSet},
};

/// A worker's, each with the number of those of the plan.
type Listeners = Vec<(u16, std::net::TcpListener)>;

/// Bytes of a buffer.
const BUFFER: usize = 16 << 10;
/// Buffers that a worker keeps for the next readers.
const SPARES: usize = 64;
/// How long accepting pauses when descriptors have run out.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs the server; returns how many connections were left at its end.
pub(crate) fn run(
    context: &ServerContext,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<u64, ServeError> {
    let workers = &context.options.workers;
    let mut listeners = Vec::new();
    for core in workers {
        // Tried here, where nobody serves yet.
        let pinned = thread::scope(|scope| scope.spawn(|| core.map_or(Ok(()), pin_to_core)).join());
        pinned.unwrap_or_else(|_| Err(io::Error::other("pinning panicked"))).map_err(ServeError::Worker)?;
        listeners.push(context.listeners()?);
    }
    let stop = &stop.child_token();
    let results: Vec<io::Result<u64>> = thread::scope(|scope| {
        let start = |(number, (core, listeners)): (usize, (&Option<usize>, Listeners))| {
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            let core = *core;
            let started = thread.spawn_scoped(scope, move || {
                let ended = worker(context, number, core, listeners, stop, notices);
                // If one worker cannot serve, none shall.
                ended.inspect_err(|_| stop.cancel())
            });
            started.inspect_err(|_| stop.cancel())
        };
        let threads: Vec<_> = workers.iter().zip(listeners).enumerate().map(start).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, io::Result<u64>>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(|thread| thread.and_then(join)).collect()
    });
    let mut left = 0;
    for result in results {
        left += result.map_err(ServeError::Worker)?;
    }
    Ok(left)
}

fn worker(
    context: &ServerContext,
    number: usize,
    core: Option<usize>,
    listeners: Listeners,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> io::Result<u64> {
    core.map_or(Ok(()), pin_to_core)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if number == 0 {
        let _ = notices.send(context.listening("tokio current-thread".to_owned()));
    }
    let worker = Rc::new(Worker::new(&context.shared, number));
    LocalSet::new().block_on(&runtime, worker_loop::run::<Tokio>(listeners, worker, stop, context.options.grace))
}

enum Tokio {}

/// A listener, and the buffers of its connections.
struct Listener {
    listener: TcpListener,
    spares: Rc<Spares>,
}

impl Model for Tokio {
    type Stream = Connection;
    type Listener = Listener;
    type Task = JoinHandle<()>;

    fn listen(listener: std::net::TcpListener) -> io::Result<Listener> {
        listener.set_nonblocking(true)?;
        Ok(Listener { listener: TcpListener::from_std(listener)?, spares: Rc::default() })
    }

    async fn accept(listener: &Listener) -> io::Result<Connection> {
        match listener.listener.accept().await {
            Ok((stream, _)) => Ok(Connection { stream, spares: listener.spares.clone() }),
            Err(error) => {
                tokio::time::sleep(PAUSE).await;
                Err(error)
            }
        }
    }

    fn spawn(task: impl Future<Output = ()> + 'static) -> JoinHandle<()> {
        tokio::task::spawn_local(task)
    }

    fn abort(task: &JoinHandle<()>) {
        task.abort();
    }
}

/// Buffers that nobody uses now.
#[derive(Default)]
struct Spares(RefCell<Vec<Vec<u8>>>);

impl Spares {
    fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_else(|| vec![0; BUFFER])
    }

    fn put(&self, buffer: Vec<u8>) {
        let mut spares = self.0.borrow_mut();
        if spares.len() < SPARES {
            spares.push(buffer);
        }
    }
}

pub(crate) struct Connection {
    stream: TcpStream,
    spares: Rc<Spares>,
}

/// Received bytes in a buffer that goes home.
pub(crate) struct Filled {
    buffer: Vec<u8>,
    len: usize,
    spares: Rc<Spares>,
}

impl Deref for Filled {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl DerefMut for Filled {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.len]
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        self.spares.put(std::mem::take(&mut self.buffer));
    }
}

impl Transport for Connection {
    type RecvBuf = Filled;

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Filled>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            let mut filled = Filled { buffer: self.spares.take(), len: 0, spares: self.spares.clone() };
            match self.stream.try_read(&mut filled.buffer) {
                Ok(len) => {
                    filled.len = len;
                    return Poll::Ready(Ok(filled));
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }
}

impl ServerTransport for Connection {
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.stream).poll_shutdown(cx)) {
            // A client that has reset the connection has shut it down already.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }

    fn reset_when_closed(&self) {
        // A connection that has ended already has nothing to reset.
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        tokio::time::sleep(duration)
    }
}

impl Endpoint for Connection {
    fn addrs(&self) -> Addrs {
        // One that is gone has no address any more.
        let nobody = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        Addrs { peer: self.stream.peer_addr().unwrap_or(nobody), local: self.stream.local_addr().unwrap_or(nobody) }
    }
}
