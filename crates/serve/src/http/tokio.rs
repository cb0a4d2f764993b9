//! Tokio: a current-thread runtime per core, a task per connection, a receive buffer only while bytes are pending.

use super::connection::ServerTransport;
use super::conversation::{Addrs, Endpoint};
use super::shared::ServerContext;
use super::worker::Worker;
use super::worker_loop::{self, Model};
use crate::{Notice, ServeError, tcp::shared::threads::run_workers};
use brunt_runtime::CancellationToken;
use brunt_tls::Transport;
use socket2::SockRef;
use std::ops::{Deref, DerefMut};
use std::task::{Context, Poll, ready};
use std::{cell::RefCell, io, pin::Pin, rc::Rc, sync::mpsc, time::Duration};
use tokio::io::AsyncWrite;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::LocalSet;

/// Bytes of a receive buffer.
const BUFFER: usize = 16 << 10;
/// Most unused buffers that a worker keeps.
const SPARES: usize = 64;
/// Pause of accepting when descriptors have run out.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs the server. Returns the number of connections closed at its end.
pub(crate) fn run(
    context: &ServerContext,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<u64, ServeError> {
    let workers = &context.options.workers;
    let part = |number| Ok((number, context.listeners()?));
    let parts = (0..workers.len()).map(part).collect::<Result<Vec<_>, ServeError>>()?;
    let body = |(number, listeners): (usize, _), stop: &CancellationToken| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let worker = Rc::new(Worker::new(&context.shared, number));
        LocalSet::new().block_on(&runtime, worker_loop::run::<Tokio>(listeners, worker, stop, context.options.grace))
    };
    Ok(run_workers(workers, stop, parts, body, |_| {
        let _ = notices.send(context.listening("tokio current-thread".to_owned()));
        Ok(())
    })?)
}

enum Tokio {}

struct Listener {
    listener: TcpListener,
    spares: Rc<Spares>,
}

impl Model for Tokio {
    type Stream = Connection;
    type Listener = Listener;

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

    fn spawn(task: impl Future<Output = ()> + 'static) -> impl FnOnce() {
        let task = tokio::task::spawn_local(task);
        move || task.abort()
    }
}

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

/// Received bytes in a buffer that is returned when dropped.
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
        // Fails if the connection has ended: there is nothing to reset.
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        tokio::time::sleep(duration)
    }
}

impl Endpoint for Connection {
    fn addrs(&self) -> Addrs {
        Addrs::new(self.stream.peer_addr(), self.stream.local_addr())
    }
}
