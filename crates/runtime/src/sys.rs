//! What sockets ask of the kernel outside the driver: names, listening, shutting down, closing. With the feature `sim`, a
//! simulated world answers for its sockets.

use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{self, Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const AT_ONCE: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// Returns the answer of the active world, if there is one.
macro_rules! simulated {
    ($name:ident($($arg:expr),*)) => {
        #[cfg(any(test, feature = "sim"))]
        if let Some(answer) = crate::sim_kernel::calls::$name($($arg),*) {
            return answer;
        }
    };
}

/// Binds a stream socket.
pub(crate) fn bind(socket: &Socket, address: &SockAddr) -> io::Result<()> {
    simulated!(bind(socket.as_raw_fd(), address, socket.reuse_port()?, false));
    socket.bind(address)
}

/// Binds a Unix socket to a path of the simulated world, where it has no file; `None` without a world.
pub(crate) fn bind_unix(socket: &Socket, address: &SockAddr) -> Option<io::Result<()>> {
    #[cfg(any(test, feature = "sim"))]
    return crate::sim_kernel::calls::bind(socket.as_raw_fd(), address, false, false);
    #[cfg(not(any(test, feature = "sim")))]
    {
        let _ = (socket, address);
        None
    }
}

pub(crate) fn listen(socket: &Socket, backlog: i32) -> io::Result<()> {
    simulated!(listen(socket.as_raw_fd(), backlog));
    socket.listen(backlog)
}

/// Takes a connection that waits at a listener: a non-blocking socket.
pub(crate) fn accept(listener: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    simulated!(accept(listener.as_raw_fd()));
    Ok(rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?)
}

/// As [`accept`], with the address of the peer, which a socket that was reset no longer has.
pub(crate) fn accept_from(listener: BorrowedFd<'_>) -> io::Result<(OwnedFd, SockAddr)> {
    if is_simulated() {
        let socket = accept(listener)?;
        let from = peer_addr(&SockRef::from(&socket))?;
        return Ok((socket, from));
    }
    let (socket, from) = SockRef::from(&listener).accept4(libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK)?;
    Ok((socket.into(), from))
}

pub(crate) fn connect_unix(socket: &Socket, address: &SockAddr) -> io::Result<()> {
    simulated!(connect_unix(socket.as_raw_fd(), address));
    socket.connect(address)
}

/// Two Unix stream sockets joined to each other.
pub(crate) fn pair() -> io::Result<(Socket, Socket)> {
    #[cfg(any(test, feature = "sim"))]
    if crate::sim_kernel::calls::is_active() {
        let socket = || Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None);
        let (one, other) = (socket()?, socket()?);
        crate::sim_kernel::calls::pair(one.as_raw_fd(), other.as_raw_fd());
        return Ok((one, other));
    }
    Socket::pair(Domain::UNIX, Type::STREAM.nonblocking(), None)
}

pub(crate) fn local_addr(socket: &SockRef<'_>) -> io::Result<SockAddr> {
    simulated!(local_addr(socket.as_raw_fd()));
    socket.local_addr()
}

pub(crate) fn peer_addr(socket: &SockRef<'_>) -> io::Result<SockAddr> {
    simulated!(peer_addr(socket.as_raw_fd()));
    socket.peer_addr()
}

pub(crate) fn shutdown(socket: &SockRef<'_>, how: Shutdown) -> io::Result<()> {
    simulated!(shutdown(socket.as_raw_fd(), how));
    socket.shutdown(how)
}

/// Whether close(2) would stand still for a time of SO_LINGER. Zero, which resets, is none.
pub(crate) fn lingers(fd: BorrowedFd<'_>) -> bool {
    !is_simulated() && matches!(SockRef::from(&fd).linger(), Ok(Some(time)) if !time.is_zero())
}

/// Removes such a time.
pub(crate) fn end_linger(fd: BorrowedFd<'_>) {
    if lingers(fd) {
        let _ = SockRef::from(&fd).set_linger(None);
    }
}

/// Bytes written to a socket that its peer has not taken: those it has not acknowledged, or on a Unix socket not read.
pub(crate) fn unsent(socket: BorrowedFd<'_>) -> usize {
    simulated!(unsent(socket.as_raw_fd()));
    let mut bytes: libc::c_int = 0;
    // SAFETY: the call writes one int, which outlives it (SIOCOUTQ; tcp(7), unix(7)).
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result == 0 { usize::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// The error that is pending on a socket, which it is no more then.
pub(crate) fn take_error(socket: &SockRef<'_>) -> io::Result<Option<io::Error>> {
    simulated!(take_error(socket.as_raw_fd()));
    socket.take_error()
}

/// Sends what fits into a stream socket, without waiting.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    simulated!(send(socket.as_raw_fd(), &[IoSlice::new(bytes)]));
    Ok(rustix::net::send(socket, bytes, AT_ONCE)?)
}

/// Receives what there is, without waiting.
pub(crate) fn receive(socket: BorrowedFd<'_>, into: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
    simulated!(receive(socket.as_raw_fd(), into));
    let ((filled, _), _) = rustix::net::recv(socket, into, RecvFlags::DONTWAIT)?;
    Ok(filled.len())
}

/// As `send`, from several pieces of memory.
pub(crate) fn send_pieces(socket: BorrowedFd<'_>, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    simulated!(send(socket.as_raw_fd(), pieces));
    Ok(rustix::net::sendmsg(socket, pieces, &mut SendAncillaryBuffer::default(), AT_ONCE)?)
}

/// A descriptor comes into the runtime from outside.
pub(crate) fn adopt(fd: BorrowedFd<'_>) -> io::Result<()> {
    simulated!(adopt(fd.as_raw_fd()));
    let _ = fd;
    Ok(())
}

/// A non-blocking socket with TCP_NODELAY. A simulated world has some that were closed there.
pub(crate) fn tcp_socket(domain: Domain) -> io::Result<Socket> {
    #[cfg(any(test, feature = "sim"))]
    if let Some(spare) = crate::sim_kernel::calls::spare(domain) {
        return Ok(spare);
    }
    let socket = Socket::new(domain, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}

/// Closes a socket.
pub(crate) fn close(fd: OwnedFd) {
    about_to_close(fd.as_fd());
    #[cfg(any(test, feature = "sim"))]
    let fd = crate::sim_kernel::calls::keep(fd);
    drop(fd);
}

/// Says that a socket is about to be closed otherwise.
pub(crate) fn about_to_close(fd: BorrowedFd<'_>) {
    #[cfg(any(test, feature = "sim"))]
    crate::sim_kernel::calls::close(fd.as_raw_fd());
    let _ = fd;
}

/// The program has changed the size of a buffer.
pub(crate) fn buffers_changed(socket: &SockRef<'_>) {
    #[cfg(any(test, feature = "sim"))]
    crate::sim_kernel::calls::buffers_changed(socket.as_fd());
    let _ = socket;
}

/// How many connections wait at a simulated listener, and the limit; `None` without a world.
pub(crate) fn queue(fd: BorrowedFd<'_>) -> Option<io::Result<(u32, u32)>> {
    #[cfg(any(test, feature = "sim"))]
    return crate::sim_kernel::calls::queue(fd.as_raw_fd());
    #[cfg(not(any(test, feature = "sim")))]
    {
        let _ = fd;
        None
    }
}

/// Whether sockets are those of a simulated world.
pub(crate) fn is_simulated() -> bool {
    #[cfg(any(test, feature = "sim"))]
    return crate::sim_kernel::calls::is_active();
    #[cfg(not(any(test, feature = "sim")))]
    false
}

pub(crate) fn bind_datagrams(socket: &Socket, address: &SockAddr) -> io::Result<()> {
    simulated!(bind(socket.as_raw_fd(), address, socket.reuse_port()?, true));
    socket.bind(address)
}

pub(crate) fn connect_datagrams(socket: &net::UdpSocket, to: SocketAddr) -> io::Result<()> {
    simulated!(connect_datagrams(socket.as_raw_fd(), to));
    socket.connect(to)
}

/// Sends a datagram, to the peer of a connected socket without an address.
pub(crate) fn send_datagram(socket: &net::UdpSocket, bytes: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
    simulated!(send_datagram(socket.as_raw_fd(), bytes, to));
    match to {
        Some(to) => socket.send_to(bytes, to),
        None => socket.send(bytes),
    }
}

/// Receives a datagram: bytes stored, bytes sent, and the sender.
pub(crate) fn receive_datagram(socket: &net::UdpSocket, into: &mut [u8]) -> io::Result<(usize, usize, SocketAddr)> {
    simulated!(receive_datagram(socket.as_raw_fd(), into));
    let (len, sent_len, from) = rustix::net::recvfrom(socket, into, RecvFlags::TRUNC)?;
    let from = from.ok_or_else(|| io::Error::other("a datagram without a sender"))?.try_into()?;
    Ok((len, sent_len, from))
}
