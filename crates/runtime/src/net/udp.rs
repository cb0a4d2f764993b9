//! `UdpSocket`: datagrams by plain system calls; the backend only waits for readiness.

use super::AsyncFd;
use crate::named::{named, not_duplicated};
use crate::sys;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::task::{Context, Poll};

/// A UDP socket. Each method tries at once and waits only on `WouldBlock`; dropping a future loses no datagram.
///
/// Any number of tasks may send and receive; the poll forms of a direction share one place, as those of [`AsyncFd`]. On a
/// connected socket an ICMP refusal is a `ConnectionRefused` of one call, and later calls proceed. `socket.as_ref()` is the
/// standard library's socket, for options such as broadcast and multicast.
///
/// ```
/// use brunt_runtime::net::UdpSocket;
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let here = UdpSocket::bind("127.0.0.1:0".parse().unwrap())?;
/// let there = UdpSocket::bind("127.0.0.1:0".parse().unwrap())?;
/// here.send_to(b"ping", there.local_addr()?).await?;
/// let mut buffer = [0; 1500];
/// let ping = there.recv_from(&mut buffer).await?;
/// assert!(!ping.is_truncated() && buffer[..ping.len] == *b"ping");
/// assert_eq!(ping.from, here.local_addr()?);
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct UdpSocket {
    fd: AsyncFd<net::UdpSocket>,
}

/// A received datagram, from an address of either family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<A = SocketAddr> {
    /// Bytes stored in the buffer.
    pub len: usize,
    /// Bytes sent by the peer; those beyond the buffer are lost.
    pub sent_len: usize,
    /// The sender's address.
    pub from: A,
}

impl<A> Datagram<A> {
    /// Whether the buffer was too small and the end of the datagram is lost.
    pub fn is_truncated(&self) -> bool {
        self.sent_len > self.len
    }

    /// Its length; an error if the buffer was too small.
    pub(super) fn whole(self) -> io::Result<usize> {
        if !self.is_truncated() {
            return Ok(self.len);
        }
        let message = format!("a datagram of {} bytes does not fit into {}", self.sent_len, self.len);
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

impl UdpSocket {
    /// Binds a socket to `address`, without SO_REUSEPORT. To set it, use [`from_std`](Self::from_std) with a standard socket.
    #[track_caller]
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let bound = || {
            let kind = Type::DGRAM.nonblocking().cloexec();
            let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::UDP))?;
            sys::bind_datagrams(&socket, &address.into()).map(|()| socket)
        };
        let socket = bound().map_err(|error| named(format!("cannot bind to {address}"), error))?;
        Ok(Self { fd: AsyncFd::new(socket.into()) })
    }

    /// Adopts a bound socket.
    #[track_caller]
    pub fn from_std(socket: net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        sys::adopt(socket.as_fd())?;
        Ok(Self { fd: AsyncFd::new(socket) })
    }

    /// Sets the peer that [`send`](Self::send) sends to and from which alone datagrams are received.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        sys::connect_datagrams(self.as_ref(), peer).map_err(|error| named(format!("cannot connect to {peer}"), error))
    }

    /// The socket for the standard library, non-blocking.
    pub fn into_std(self) -> io::Result<net::UdpSocket> {
        self.as_ref().try_clone().map_err(not_duplicated)
    }

    /// The peer that [`connect`](Self::connect) has set.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_ref().peer_addr()
    }

    /// The local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = sys::local_addr(&SockRef::from(self.as_ref()))?;
        address.as_socket().ok_or_else(|| io::Error::other("not an IP address"))
    }

    /// Sends a datagram to `to`, whole or not at all; returns its length.
    pub async fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        let sent = self.fd.write_with(|socket| sys::send_datagram(socket, bytes, Some(to))).await;
        sent.map_err(|error| not_sent(to, error))
    }

    /// Poll form of `send_to`.
    pub fn poll_send_to(&self, cx: &Context<'_>, bytes: &[u8], to: SocketAddr) -> Poll<io::Result<usize>> {
        let sent = self.fd.poll_write_with(cx, |socket| sys::send_datagram(socket, bytes, Some(to)));
        sent.map_err(|error| not_sent(to, error))
    }

    /// Sends a datagram to the peer of [`connect`](Self::connect).
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.fd.write_with(|socket| sys::send_datagram(socket, bytes, None)).await
    }

    /// Poll form of `send`.
    pub fn poll_send(&self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.fd.poll_write_with(cx, |socket| sys::send_datagram(socket, bytes, None))
    }

    /// Receives a datagram into the start of `into`; see [`Datagram::is_truncated`]. Dropping the future loses nothing.
    pub async fn recv_from(&self, into: &mut [u8]) -> io::Result<Datagram> {
        self.fd.read_with(|socket| receive(socket, into)).await
    }

    /// Poll form of `recv_from`.
    pub fn poll_recv_from(&self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<Datagram>> {
        self.fd.poll_read_with(cx, |socket| receive(socket, into))
    }

    /// Receives a datagram, after [`connect`](Self::connect) from that peer only; returns its length.
    ///
    /// # Errors
    /// `InvalidData` if the datagram does not fit into `into`; it is lost and later calls proceed.
    pub async fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        self.recv_from(into).await.and_then(Datagram::whole)
    }

    /// Poll form of `recv`.
    pub fn poll_recv(&self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_recv_from(cx, into).map(|received| received.and_then(Datagram::whole))
    }
}

/// The error of a send with the address that it was for. A refusal is that of an earlier datagram, whichever call returns it.
#[cold]
fn not_sent(to: SocketAddr, error: io::Error) -> io::Error {
    let what = match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("nothing was sent to {to}, since an earlier datagram was refused"),
        _ => format!("cannot send to {to}"),
    };
    named(what, error)
}

fn receive(socket: &net::UdpSocket, into: &mut [u8]) -> io::Result<Datagram> {
    let (len, sent_len, from) = sys::receive_datagram(socket, into)?;
    Ok(Datagram { len, sent_len, from })
}

/// The simulated world learns of the close.
#[cfg(any(test, feature = "sim"))]
impl Drop for UdpSocket {
    fn drop(&mut self) {
        sys::about_to_close(self.as_ref().as_fd());
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_ref().as_fd()
    }
}

impl AsRef<net::UdpSocket> for UdpSocket {
    fn as_ref(&self) -> &net::UdpSocket {
        self.fd.get_ref()
    }
}
