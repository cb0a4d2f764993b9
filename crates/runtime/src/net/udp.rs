//! `UdpSocket`: datagrams, moved by plain system calls; only waiting is the backend's.

use super::Watch;
use rustix::net::RecvFlags;
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    future::poll_fn,
    io,
    net::{self, SocketAddr},
    task::{Context, Poll},
};

/// A socket for datagrams. Every method tries at once and waits only if it must; dropping a future loses no datagram that
/// was not received. All methods take `&self`: one task sends and one receives; if there are more, the last one is woken.
///
/// The news that nobody receives what was sent (`ConnectionRefused`, by ICMP) is an error of one call of a connected
/// socket, and the next one goes on. Options such as broadcast and multicast are those of the standard library's socket:
/// `socket.as_ref()`.
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
    watch: Watch<net::UdpSocket>,
}

/// A datagram that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes of it that are in the buffer.
    pub len: usize,
    /// Bytes it had when it was sent; what did not fit into the buffer is lost.
    pub sent_len: usize,
    /// Who sent it.
    pub from: SocketAddr,
}

impl Datagram {
    /// The buffer was too small: the end of the datagram is lost.
    pub fn is_truncated(&self) -> bool {
        self.sent_len > self.len
    }
}

impl UdpSocket {
    /// A socket that receives what is sent to `address`, which is its own alone. For one a worker, make them with
    /// SO_REUSEPORT and use [`from_std`](Self::from_std).
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket =
            Socket::new(Domain::for_address(address), Type::DGRAM.nonblocking().cloexec(), Some(Protocol::UDP))?;
        socket.bind(&address.into())?;
        Ok(Self { watch: Watch::new(socket.into()) })
    }

    /// Takes over a bound socket.
    pub fn from_std(socket: net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { watch: Watch::new(socket) })
    }

    /// Makes `peer` the one to whom [`send`](Self::send) sends, and from whom alone datagrams are received.
    pub fn connect(&self, peer: SocketAddr) -> io::Result<()> {
        self.as_ref().connect(peer)
    }

    /// The address it is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_ref().local_addr()
    }

    /// Sends a datagram to `to`; returns its length, for it is sent whole or not at all.
    pub async fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        poll_fn(|cx| self.poll_send_to(cx, bytes, to)).await
    }

    /// As `send_to`, for hand-written futures and adapters.
    pub fn poll_send_to(&self, cx: &Context<'_>, bytes: &[u8], to: SocketAddr) -> Poll<io::Result<usize>> {
        self.watch.poll_write_with(cx, |socket| socket.send_to(bytes, to))
    }

    /// Sends a datagram to the peer of [`connect`](Self::connect).
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_send(cx, bytes)).await
    }

    /// As `send`, for hand-written futures and adapters.
    pub fn poll_send(&self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.watch.poll_write_with(cx, |socket| socket.send(bytes))
    }

    /// Receives a datagram into the beginning of `into`; what does not fit is lost, and the result says so. Dropping the
    /// future loses nothing.
    pub async fn recv_from(&self, into: &mut [u8]) -> io::Result<Datagram> {
        poll_fn(|cx| self.poll_recv_from(cx, into)).await
    }

    /// As `recv_from`, for hand-written futures and adapters.
    pub fn poll_recv_from(&self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<Datagram>> {
        self.watch.poll_read_with(cx, |socket| {
            let (len, sent_len, from) = rustix::net::recvfrom(socket, &mut *into, RecvFlags::TRUNC)?;
            let from = from.ok_or_else(|| io::Error::other("a datagram without a sender"))?.try_into()?;
            Ok(Datagram { len, sent_len, from })
        })
    }

    /// Receives a datagram of the peer of [`connect`](Self::connect); of anybody before that. As
    /// [`recv_from`](Self::recv_from), of which it takes the length only: a truncated datagram is an error,
    /// `InvalidData`, and the next one is received as ever.
    pub async fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_recv(cx, into)).await
    }

    /// As `recv`, for hand-written futures and adapters.
    pub fn poll_recv(&self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let room = into.len();
        self.poll_recv_from(cx, into).map(|received| match received? {
            datagram if datagram.is_truncated() => {
                let message = format!("a datagram of {} bytes does not fit into {room}", datagram.sent_len);
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
            datagram => Ok(datagram.len),
        })
    }
}

impl AsRef<net::UdpSocket> for UdpSocket {
    fn as_ref(&self) -> &net::UdpSocket {
        self.watch.get_ref()
    }
}
