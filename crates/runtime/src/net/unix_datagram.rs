//! `UnixDatagram`: datagrams between processes of this host.

use super::socket_file::{self, SocketFile};
use super::{AsyncFd, Datagram};
use crate::named::{named, not_duplicated};
use crate::poll_budget;
use crate::time::sleep;
use socket2::{Domain, SockRef, Socket, Type};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{future::poll_fn, io, mem::MaybeUninit, ptr};

/// Pause before a datagram is sent again to a receiver that was full.
const FULL_PAUSE: Duration = Duration::from_millis(1);

/// A Unix datagram socket. Each method tries at once and waits only on `WouldBlock`; dropping a future loses no datagram.
///
/// Datagrams arrive in order and none is lost: a sender waits while the receiver's queue is full. `socket.as_ref()` is the standard
/// library's socket.
///
/// ```
/// use brunt_runtime::net::UnixDatagram;
///
/// # brunt_runtime::Runtime::new()?.block_on(async {
/// let (here, there) = UnixDatagram::pair()?;
/// here.send(b"ping").await?;
/// let mut buffer = [0; 64];
/// assert_eq!(there.recv(&mut buffer).await?, 4);
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct UnixDatagram {
    fd: AsyncFd<net::UnixDatagram>,
    /// Removed with it.
    file: Option<SocketFile>,
}

impl UnixDatagram {
    /// Binds a socket to `path`, which must not exist; a path that begins with a zero byte is a name of Linux's abstract namespace.
    /// Dropping the socket removes the file.
    #[track_caller]
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let socket = Socket::new(Domain::UNIX, Type::DGRAM.nonblocking().cloexec(), None)
            .map_err(|error| named(socket_file::failed(path, "bind to"), error))?;
        let file = SocketFile::bind(&socket, path, "bind to")?;
        Ok(Self { fd: AsyncFd::new(socket.into()), file })
    }

    /// A socket without a name: its peers cannot answer.
    #[track_caller]
    pub fn unbound() -> io::Result<Self> {
        let socket = net::UnixDatagram::unbound();
        Self::from_std(socket.map_err(|error| named("cannot create a Unix datagram socket", error))?)
    }

    /// Two sockets connected to each other.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let pair = net::UnixDatagram::pair();
        let (one, other) = pair.map_err(|error| named("cannot create a pair of Unix datagram sockets", error))?;
        Ok((Self::from_std(one)?, Self::from_std(other)?))
    }

    /// Adopts a socket, but not its file, which stays.
    #[track_caller]
    pub fn from_std(socket: net::UnixDatagram) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { fd: AsyncFd::new(socket), file: None })
    }

    /// The socket for the standard library, non-blocking. Its file stays, and is the caller's to remove.
    pub fn into_std(mut self) -> io::Result<net::UnixDatagram> {
        if let Some(file) = self.file.take() {
            file.leave();
        }
        self.as_ref().try_clone().map_err(not_duplicated)
    }

    /// Sets the peer that [`send`](Self::send) sends to and from which alone datagrams are received.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let connected = SockRef::from(self.as_ref()).connect(&socket_file::address(path)?);
        connected.map_err(|error| named(format!("cannot connect to '{}'", socket_file::display(path)), error))
    }

    /// The address of the peer that [`connect`](Self::connect) has set.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.as_ref().peer_addr()
    }

    /// The local address.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.as_ref().local_addr()
    }

    /// Sends a datagram to the socket on `path`, whole or not at all; returns its length. While the receiver is full, asks again
    /// every millisecond: the kernel says that a socket without a peer can be written to at all times.
    pub async fn send_to(&self, bytes: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let path = path.as_ref();
        let to = socket_file::address(path)?;
        loop {
            poll_fn(|cx| poll_budget(cx)).await;
            match SockRef::from(self.as_ref()).send_to(bytes, &to) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(FULL_PAUSE).await,
                Err(error) => return Err(named(format!("cannot send to '{}'", socket_file::display(path)), error)),
                Ok(sent) => return Ok(sent),
            }
        }
    }

    /// Sends a datagram to the peer.
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.fd.write_with(|socket| socket.send(bytes)).await
    }

    /// Poll form of `send`.
    pub fn poll_send(&self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.fd.poll_write_with(cx, |socket| socket.send(bytes))
    }

    /// Receives a datagram into the start of `into`; see [`Datagram::is_truncated`].
    pub async fn recv_from(&self, into: &mut [u8]) -> io::Result<Datagram<SocketAddr>> {
        self.fd.read_with(|socket| receive(socket, into)).await
    }

    /// Receives a datagram into the start of `into`; returns its length.
    ///
    /// # Errors
    /// `InvalidData` if the datagram does not fit into `into`; it is lost and later calls proceed.
    pub async fn recv(&self, into: &mut [u8]) -> io::Result<usize> {
        self.recv_from(into).await.and_then(Datagram::whole)
    }

    /// Poll form of `recv`.
    pub fn poll_recv(&self, cx: &Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.fd.poll_read_with(cx, |socket| receive(socket, into)).map(|received| received.and_then(Datagram::whole))
    }
}

fn receive(socket: &net::UnixDatagram, into: &mut [u8]) -> io::Result<Datagram<SocketAddr>> {
    let room = into.len();
    // SAFETY: the slices have the same layout, and the call writes initialised bytes only.
    let into = unsafe { &mut *(ptr::from_mut(into) as *mut [MaybeUninit<u8>]) };
    let (sent_len, from) = SockRef::from(socket).recv_from_with_flags(into, libc::MSG_TRUNC)?;
    // A sender without a name has no address at all.
    let from = from.as_unix().map_or_else(|| SocketAddr::from_pathname(""), Ok)?;
    Ok(Datagram { len: sent_len.min(room), sent_len, from })
}

impl AsFd for UnixDatagram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_ref().as_fd()
    }
}

impl AsRef<net::UnixDatagram> for UnixDatagram {
    fn as_ref(&self) -> &net::UnixDatagram {
        self.fd.get_ref()
    }
}
