//! `TcpStream`: two ways to read, one inbox; two ways to write, one send in flight.

use super::Lease;
use crate::{io::closed, slab::Key, worker};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::{
    future::{Future, poll_fn},
    io,
    marker::PhantomData,
    net::{Shutdown, SocketAddr},
    os::fd::{AsRawFd, OwnedFd},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

/// A TCP connection of this thread's runtime. Dropping it closes it; what was written still goes out.
#[derive(Debug)]
pub struct TcpStream {
    key: Key,
    worker: u16,
    local: PhantomData<*mut ()>,
}

impl TcpStream {
    pub(super) fn adopt(fd: OwnedFd) -> Self {
        worker::current(|worker| Self { key: worker.io().adopt(fd), worker: worker.id(), local: PhantomData })
    }

    /// Connects to `address`, with TCP_NODELAY. Dropping the future gives the attempt up.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::connect_from(address, None).await
    }

    /// Connects from a source address; its port is chosen by the kernel if it is 0, and only when the destination is
    /// known, so that one source address can hold as many connections to each destination as there are ports.
    pub async fn connect_from(address: SocketAddr, source: Option<SocketAddr>) -> io::Result<Self> {
        let socket =
            Socket::new(Domain::for_address(address), Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            if source.port() == 0 {
                port_when_connecting(&socket)?;
            }
            socket.bind(&source.into())?;
        }
        let stream = worker::current(|worker| Self {
            key: worker.io().start_connect(socket.into(), address.into()),
            worker: worker.id(),
            local: PhantomData,
        });
        poll_fn(|cx| worker::current(|worker| worker.io().poll_connected(stream.key, cx))).await?;
        Ok(stream)
    }

    /// Takes over a connected socket.
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::adopt(stream.into()))
    }

    /// Copies received bytes into `into`; 0 is the end of the stream. Dropping the future loses nothing.
    pub async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, into)).await
    }

    /// As `read`, for hand-written futures and adapters.
    #[inline]
    pub fn poll_read(&mut self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.here(|worker, key| worker.io().poll_read(key, cx, into))
    }

    /// Fills `into` completely, or fails with `UnexpectedEof`. Not cancel-safe: a dropped future has read what it had.
    pub async fn read_exact(&mut self, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            match self.read(into).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                len => into = &mut into[len..],
            }
        }
        Ok(())
    }

    /// Lends what was received, without a copy; an empty lease is the end of the stream. Dropping the future loses
    /// nothing.
    #[inline]
    pub fn recv(&mut self) -> Recv<'_> {
        Recv { stream: self }
    }

    /// As `recv`, for hand-written futures and adapters.
    #[inline(always)]
    pub fn poll_recv(&mut self, cx: &Context<'_>) -> Poll<io::Result<Lease>> {
        // SAFETY: the reference does not leave this function.
        let Some(worker) = (unsafe { worker::find(self.worker) }) else { return Poll::Ready(Err(closed())) };
        let received = ready!(worker.io().poll_receive(self.key, cx));
        Poll::Ready(received.map(|received| match received {
            Some(received) => Lease::new(self.worker, received),
            None => Lease::end_of_stream(),
        }))
    }

    /// Sends a lease, without a copy. Returns when the kernel or its queue has it, one send at a time: an error shows on
    /// the next call, and [`flush`](Self::flush) waits for the end.
    #[inline]
    pub fn send(&mut self, lease: Lease) -> Send<'_> {
        Send { stream: self, lease: Some(lease) }
    }

    /// As `send`, for hand-written futures and adapters: takes the lease when it is ready.
    ///
    /// # Panics
    /// If there is no lease.
    #[inline(always)]
    pub fn poll_send(&mut self, cx: &Context<'_>, lease: &mut Option<Lease>) -> Poll<io::Result<()>> {
        let sent = lease.as_ref().expect("there is no lease: the send was ready before");
        let Some(worker) = sent.worker() else { return self.poll_flush(cx) };
        if worker != self.worker {
            let message = "the lease belongs to another runtime";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, message)));
        }
        let part = sent.part();
        ready!(self.here(|worker, key| worker.io().poll_send(key, cx, part)))?;
        // The runtime has the buffer now.
        std::mem::forget(lease.take());
        Poll::Ready(Ok(()))
    }

    /// Writes some of `bytes`, at least one byte. Returns when they are copied or taken, not when they have been sent.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_write(cx, bytes)).await
    }

    /// As `write`, for hand-written futures and adapters.
    #[inline(always)]
    pub fn poll_write(&mut self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.here(|worker, key| worker.io().poll_write(key, cx, bytes))
    }

    /// Writes all of `bytes`.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let len = self.write(bytes).await?;
            bytes = &bytes[len..];
        }
        Ok(())
    }

    /// Waits until the kernel has taken everything written so far.
    pub async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// As `flush`, for hand-written futures and adapters.
    #[inline]
    pub fn poll_flush(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        self.here(|worker, key| worker.io().poll_flush(key, cx))
    }

    /// Shuts one or both directions down, after everything written has gone.
    pub async fn shutdown(&mut self, how: Shutdown) -> io::Result<()> {
        if how != Shutdown::Read {
            self.flush().await?;
        }
        self.socket(|socket| socket.shutdown(how))
    }

    /// The other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket(|socket| socket.peer_addr()).and_then(internet)
    }

    /// This end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket(|socket| socket.local_addr()).and_then(internet)
    }

    /// Sets TCP_NODELAY; streams begin with it on.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.socket(|socket| socket.set_tcp_nodelay(on))
    }

    /// Makes the coming close a reset: nothing more is sent and no port lingers in TIME_WAIT.
    pub fn set_linger_zero(&self) -> io::Result<()> {
        self.socket(|socket| socket.set_linger(Some(Duration::ZERO)))
    }

    fn socket<T>(&self, f: impl FnOnce(SockRef<'_>) -> io::Result<T>) -> io::Result<T> {
        worker::with(self.worker, |worker| f(SockRef::from(&worker.io().fd(self.key)?)))
            .unwrap_or_else(|| Err(closed()))
    }

    #[inline(always)]
    fn here<T>(&self, f: impl FnOnce(&worker::Worker, Key) -> Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        worker::with(self.worker, |worker| f(worker, self.key)).unwrap_or_else(|| Poll::Ready(Err(closed())))
    }
}

/// IP_BIND_ADDRESS_NO_PORT (Linux 4.2): neither socket2 nor rustix has it.
fn port_when_connecting(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option takes one int, which lives through the call, and the descriptor is open.
    let result = unsafe {
        let (level, option) = (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const on).cast(), size_of_val(&on) as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn internet(address: socket2::SockAddr) -> io::Result<SocketAddr> {
    address.as_socket().ok_or_else(|| io::Error::other("not an internet address"))
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        worker::with(self.worker, |worker| worker.io().drop_conn(self.key));
    }
}

/// The future of [`TcpStream::recv`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Recv<'a> {
    stream: &'a mut TcpStream,
}

impl Future for Recv<'_> {
    type Output = io::Result<Lease>;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().stream.poll_recv(cx)
    }
}

/// The future of [`TcpStream::send`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Send<'a> {
    stream: &'a mut TcpStream,
    lease: Option<Lease>,
}

impl Future for Send<'_> {
    type Output = io::Result<()>;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { stream, lease } = self.get_mut();
        stream.poll_send(cx, lease)
    }
}
