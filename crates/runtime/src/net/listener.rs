//! `TcpListener`.

use super::TcpStream;
use crate::{
    io::{Io, closed},
    slab::Key,
    time::sleep,
    trace::note,
    worker,
};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::{future::poll_fn, io, marker::PhantomData, net::SocketAddr, os::fd::OwnedFd, task::Poll, time::Duration};

/// Pending connections the kernel keeps for us; it lowers this to net.core.somaxconn.
const BACKLOG: i32 = 65_535;
/// How long accepting pauses when descriptors or memory have run out.
const PAUSE: Duration = Duration::from_millis(20);

/// A socket that accepts connections. Must be made and used inside `block_on`.
#[derive(Debug)]
pub struct TcpListener {
    key: Key,
    worker: u16,
    local: PhantomData<*mut ()>,
}

impl TcpListener {
    /// Listens on `address`, with SO_REUSEADDR and SO_REUSEPORT (every worker binds its own listener to the same address
    /// and the kernel spreads connections over them) and TCP_NODELAY for all accepted streams.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket =
            Socket::new(Domain::for_address(address), Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        // Accepted sockets inherit it: no system call a connection.
        socket.set_tcp_nodelay(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(Self::adopt(socket.into()))
    }

    /// Takes over a listening socket.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self::adopt(listener.into()))
    }

    fn adopt(fd: OwnedFd) -> Self {
        worker::current(|worker| Self { key: worker.io().add_listener(fd), worker: worker.id(), local: PhantomData })
    }

    /// The next connection. When descriptors or memory have run out, accepting pauses and goes on by itself; the other
    /// connections stay served and new ones wait in the kernel's queue.
    pub async fn accept(&self) -> io::Result<TcpStream> {
        let mut paused = false;
        loop {
            let accepted = poll_fn(|cx| {
                worker::with(self.worker, |worker| worker.io().poll_accept(self.key, cx))
                    .unwrap_or_else(|| Poll::Ready(Err(closed())))
            })
            .await;
            match accepted {
                Ok(fd) => {
                    if paused {
                        note!(INFO, "accepting goes on");
                    }
                    return Ok(TcpStream::adopt(fd));
                }
                Err(error) if Io::is_exhaustion(&error) => {
                    worker::current(|worker| worker.io().metrics.accept_pauses += 1);
                    if !std::mem::replace(&mut paused, true) {
                        note!(WARN, "accepting pauses: descriptors or memory have run out"; error = error);
                    }
                    sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The address it listens on.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let local = |worker: &worker::Worker| SockRef::from(&worker.io().listener_fd(self.key)?).local_addr();
        let address = worker::with(self.worker, local).unwrap_or_else(|| Err(closed()))?;
        address.as_socket().ok_or_else(|| io::Error::other("not an internet address"))
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        worker::with(self.worker, |worker| worker.io().drop_listener(self.key));
    }
}
