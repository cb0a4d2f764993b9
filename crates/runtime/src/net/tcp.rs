//! TCP: connecting and listening, and what only TCP streams have.

use super::{Family, Listener, Stream, conn_handle::Link, listener::BACKLOG, stream::sealed::Sealed};
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};
use std::{io, net::SocketAddr, os::fd::AsRawFd, time::Duration};

/// The family of TCP streams, over IPv4 and IPv6.
#[derive(Debug)]
pub enum Tcp {}

impl Sealed for Tcp {}
impl Family for Tcp {}

/// A TCP connection.
///
/// ```
/// use brunt_runtime::net::{TcpListener, TcpStream};
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap())?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// let mut server = listener.accept().await?;
/// client.write_all(b"hello").await?;
/// assert_eq!(*server.recv().await?, *b"hello");
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
pub type TcpStream = Stream<Tcp>;

/// A socket that accepts TCP connections.
pub type TcpListener = Listener<Tcp>;

/// The kernel's limit on keepalive times.
const LONGEST_KEEPALIVE: u64 = 32_767;

impl Stream<Tcp> {
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
        Ok(Self::new(Link::connect(socket, address.into()).await?))
    }

    /// Takes over a connected socket.
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::adopt(stream.into()))
    }

    /// The other end.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.link().socket(|socket| socket.peer_addr()).and_then(internet)
    }

    /// This end.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.link().socket(|socket| socket.local_addr()).and_then(internet)
    }

    /// Sets TCP_NODELAY; streams begin with it on.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.link().socket(|socket| socket.set_tcp_nodelay(on))
    }

    /// Makes the coming close a reset: nothing more is sent and no port lingers in TIME_WAIT.
    pub fn set_linger_zero(&self) -> io::Result<()> {
        self.link().socket(|socket| socket.set_linger(Some(Duration::ZERO)))
    }

    /// After each `period` of silence asks the peer whether it is still there; when it has left some questions in a row
    /// unanswered (net.ipv4.tcp_keepalive_probes, 9 by default) the connection ends with `TimedOut`. `None`, as at the
    /// beginning: never asks. The kernel counts in whole seconds, and so the period is rounded up to those; it may be up
    /// to 32,767 s.
    pub fn set_keepalive(&self, period: Option<Duration>) -> io::Result<()> {
        let Some(period) = period else { return self.link().socket(|socket| socket.set_keepalive(false)) };
        let seconds = period.as_secs().saturating_add(u64::from(period.subsec_nanos() > 0)).max(1);
        if seconds > LONGEST_KEEPALIVE {
            let message = format!("a keepalive period of {seconds} s is too long: {LONGEST_KEEPALIVE} s is the most");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let period = Duration::from_secs(seconds);
        let keepalive = TcpKeepalive::new().with_time(period).with_interval(period);
        self.link().socket(|socket| socket.set_tcp_keepalive(&keepalive))
    }
}

impl Listener<Tcp> {
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
        Ok(Self::adopt(socket.into(), None))
    }

    /// Takes over a listening socket.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self::adopt(listener.into(), None))
    }

    /// The address it listens on.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket(|socket| socket.local_addr()).and_then(internet)
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

fn internet(address: SockAddr) -> io::Result<SocketAddr> {
    address.as_socket().ok_or_else(|| io::Error::other("not an internet address"))
}
