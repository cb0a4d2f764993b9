//! TCP: connecting, listening, and options of TCP streams.

use super::{Family, Listener, Stream, listener::BACKLOG, stream::sealed::Sealed};
use crate::named::named;
use crate::sys;
use socket2::{Domain, SockAddr, SockRef, Socket, TcpKeepalive};
use std::net::{self, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::{io, time::Duration};

/// The family of TCP streams, over IPv4 and IPv6.
#[derive(Debug)]
pub enum Tcp {}

impl Sealed for Tcp {
    type Address = SocketAddr;
    fn address(address: SockAddr) -> io::Result<SocketAddr> {
        address.as_socket().ok_or_else(|| io::Error::other("not an IP address"))
    }
}

impl Family for Tcp {
    type Addr = SocketAddr;
    type StdStream = net::TcpStream;
    type StdListener = net::TcpListener;
}

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

/// The kernel's limit of keepalive times, in seconds.
const MAX_KEEPALIVE: u64 = 32_767;

impl Stream<Tcp> {
    /// Sends a keepalive probe after each `period` of silence, rounded up to seconds, at most 32,767 s; `None` sends none.
    /// The connection fails with `TimedOut` after net.ipv4.tcp_keepalive_probes (9 by default) without an answer.
    pub fn set_keepalive(&self, period: Option<Duration>) -> io::Result<()> {
        self.conn().socket(|socket| set_keepalive(&socket, period))
    }

    /// Sets TCP_USER_TIMEOUT, in milliseconds, rounded up: the connection fails with `TimedOut` when sent data stays
    /// unacknowledged for that long; `None` leaves it to net.ipv4.tcp_retries2 (some 15 minutes).
    pub fn set_user_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.conn().socket(|socket| set_user_timeout(&socket, limit))
    }
}

impl Listener<Tcp> {
    /// Listens on `address`, with SO_REUSEADDR, and with TCP_NODELAY for all accepted streams.
    #[track_caller]
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self::adopt(listen(address, false)?, None))
    }

    /// As [`bind`](Self::bind), with SO_REUSEPORT: each worker of a group binds its own listener to the same address, and the
    /// kernel spreads connections over them. Any process of the same user that sets the option can join.
    #[track_caller]
    pub fn bind_reuse_port(address: SocketAddr) -> io::Result<Self> {
        Ok(Self::adopt(listen(address, true)?, None))
    }

    /// As [`accept`](Self::accept), for a connection that another worker or thread will serve: the runtime holds nothing of
    /// it. The socket is non-blocking; [`TcpStream::from_std`] adopts it there.
    pub async fn accept_std(&self) -> io::Result<net::TcpStream> {
        self.accept_fd().await.map(Into::into)
    }
}

pub(super) fn set_keepalive(socket: &SockRef<'_>, period: Option<Duration>) -> io::Result<()> {
    let Some(period) = period else { return socket.set_keepalive(false) };
    let seconds = period.as_secs().saturating_add(u64::from(period.subsec_nanos() > 0)).max(1);
    if seconds > MAX_KEEPALIVE {
        let message = format!("a keepalive period of {seconds} s is too long; the maximum is {MAX_KEEPALIVE} s");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let period = Duration::from_secs(seconds);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(period).with_interval(period))
}

pub(super) fn set_user_timeout(socket: &SockRef<'_>, limit: Option<Duration>) -> io::Result<()> {
    let millis = |limit: Duration| limit.as_nanos().div_ceil(1_000_000).clamp(1, i32::MAX as u128) as u64;
    socket.set_tcp_user_timeout(limit.map(|limit| Duration::from_millis(millis(limit))))
}

/// A listening socket. Accepted sockets inherit TCP_NODELAY.
pub(super) fn listen(address: SocketAddr, reuse_port: bool) -> io::Result<OwnedFd> {
    let listening = || {
        let socket = socket(address)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(reuse_port)?;
        sys::bind(&socket, &address.into())?;
        sys::listen(&socket, BACKLOG)?;
        Ok(socket.into())
    };
    listening().map_err(|error| named(format!("cannot listen on {address}"), error))
}

/// A non-blocking socket with TCP_NODELAY.
pub(super) fn socket(address: SocketAddr) -> io::Result<Socket> {
    sys::tcp_socket(Domain::for_address(address))
}

/// Sets IP_BIND_ADDRESS_NO_PORT (Linux 4.2), which socket2 and rustix lack.
pub(super) fn bind_without_port(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option reads one int, which outlives the call; the descriptor is open.
    let result = unsafe {
        let (level, option) = (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
        libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const on).cast(), size_of_val(&on) as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
