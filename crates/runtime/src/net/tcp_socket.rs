//! `TcpSocket`: a TCP socket before it connects or listens, for the options that must be set by then; and `TcpStream::connect`.

use super::tcp::{self, bind_without_port, set_keepalive, set_user_timeout};
use super::{TcpListener, TcpStream, conn_handle::ConnHandle};
use crate::named::named;
use crate::sys;
use socket2::{Domain, SockRef, Socket};
use std::cell::Cell;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::{io, time::Duration};

/// A TCP socket that neither connects nor listens yet. For options without a method here, borrow it ([`AsFd`]) through a crate
/// such as socket2 or rustix.
///
/// ```
/// use brunt_runtime::net::TcpSocket;
/// use std::time::Duration;
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuse_address(true)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(128)?;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_recv_buffer_size(1 << 20)?;
/// socket.set_user_timeout(Some(Duration::from_secs(10)))?;
/// let mut client = socket.connect(listener.local_addr()?).await?;
/// client.write_all(b"hello").await?;
/// assert_eq!(*listener.accept().await?.recv().await?, *b"hello");
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct TcpSocket {
    socket: Socket,
    /// The descriptor was lent to the program, and may have a time of SO_LINGER.
    shown: Cell<bool>,
}

impl TcpSocket {
    /// A socket for IPv4, with TCP_NODELAY.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// A socket for IPv6, with TCP_NODELAY.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    /// A socket of the family of that address, with TCP_NODELAY.
    pub fn for_address(address: SocketAddr) -> io::Result<Self> {
        Self::new(Domain::for_address(address))
    }

    fn new(domain: Domain) -> io::Result<Self> {
        let socket = sys::tcp_socket(domain).map_err(|error| named("cannot create a TCP socket", error))?;
        Ok(Self::wrap(socket))
    }

    fn wrap(socket: Socket) -> Self {
        Self { socket, shown: Cell::new(false) }
    }

    /// Sets TCP_NODELAY, which is initially on. Accepted sockets inherit it.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.socket.set_tcp_nodelay(on)
    }

    /// Sets SO_REUSEADDR: a listener may bind to an address whose connections are still in TIME_WAIT.
    pub fn set_reuse_address(&self, on: bool) -> io::Result<()> {
        self.socket.set_reuse_address(on)
    }

    /// Sets SO_REUSEPORT: several sockets may bind to the same address, and the kernel spreads connections over the listeners.
    pub fn set_reuse_port(&self, on: bool) -> io::Result<()> {
        self.socket.set_reuse_port(on)
    }

    /// Sets IPV6_V6ONLY: a listener on `[::]` takes no IPv4.
    pub fn set_only_v6(&self, on: bool) -> io::Result<()> {
        self.socket.set_only_v6(on)
    }

    /// As [`TcpStream::set_recv_buffer_size`]. Before the connection is made it also decides how far its window can grow.
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_recv_buffer_size(bytes)
    }

    /// As [`TcpStream::set_send_buffer_size`].
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        self.socket.set_send_buffer_size(bytes)
    }

    /// As [`TcpStream::set_keepalive`]. Accepted sockets inherit it.
    pub fn set_keepalive(&self, period: Option<Duration>) -> io::Result<()> {
        set_keepalive(&SockRef::from(&self.socket), period)
    }

    /// As [`TcpStream::set_user_timeout`]. Accepted sockets inherit it; a connect is limited by it too.
    pub fn set_user_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        set_user_timeout(&SockRef::from(&self.socket), limit)
    }

    /// Binds to a local address. For a connect, port 0 lets the kernel choose the port once the destination is known.
    ///
    /// # Errors
    /// Those of bind(2), with the address.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        sys::bind(&self.socket, &address.into()).map_err(|error| named(format!("cannot bind to {address}"), error))
    }

    /// As [`bind`](Self::bind), for a socket that will connect: with port 0 the kernel chooses the port once the destination is
    /// known, so one address supports as many connections to each destination as there are ports.
    pub fn bind_source(&self, source: SocketAddr) -> io::Result<()> {
        if source.port() == 0 {
            bind_without_port(&self.socket)?;
        }
        self.bind(source)
    }

    /// The local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = sys::local_addr(&SockRef::from(&self.socket))?;
        address.as_socket().ok_or_else(|| io::Error::other("not an IP address"))
    }

    /// Connects. Dropping the future cancels the attempt.
    ///
    /// # Errors
    /// Those of connect(2), with the address.
    pub async fn connect(self, address: SocketAddr) -> io::Result<TcpStream> {
        let connected = ConnHandle::connect(self.socket, address.into()).await;
        let stream = |conn: ConnHandle| {
            conn.may_linger.set(self.shown.get());
            TcpStream::new(conn)
        };
        connected.map(stream).map_err(|error| named(format!("cannot connect to {address}"), error))
    }

    /// Listens; at most `backlog` connections wait to be accepted (the kernel lowers it to net.core.somaxconn).
    ///
    /// # Errors
    /// Those of listen(2), with the address.
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        sys::listen(&self.socket, i32::try_from(backlog).unwrap_or(i32::MAX)).map_err(|error| {
            let place = self.local_addr().map_or_else(|_| "a free port".to_owned(), |address| address.to_string());
            named(format!("cannot listen on {place}"), error)
        })?;
        let listener = TcpListener::adopt(self.socket.into(), None);
        listener.shown.set(self.shown.get());
        Ok(listener)
    }
}

impl TcpStream {
    /// Connects to `address`, with TCP_NODELAY. Dropping the future cancels the attempt.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::connect_from(address, None).await
    }

    /// Connects from a source address. With source port 0 the kernel chooses the port once the destination is known, so one
    /// source address supports as many connections to each destination as there are ports.
    pub async fn connect_from(address: SocketAddr, source: Option<SocketAddr>) -> io::Result<Self> {
        let created = tcp::socket(address).map(TcpSocket::wrap);
        let socket = created.map_err(|error| named(format!("cannot connect to {address}"), error))?;
        if let Some(source) = source {
            socket.bind_source(source)?;
        }
        socket.connect(address).await
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shown.set(true);
        self.socket.as_fd()
    }
}
