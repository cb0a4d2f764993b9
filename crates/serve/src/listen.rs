//! Addresses: reserved once, then listened on by every worker.

use crate::ServeError;
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    io,
    net::{SocketAddr, TcpListener},
};

/// Pending connections the kernel keeps; it lowers this to net.core.somaxconn.
const BACKLOG: i32 = 65_535;

/// An address that is ours: while this lives nobody else gets the port.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub address: SocketAddr,
    _socket: Socket,
}

/// Binds every address without listening: a second server on the same port is an error here and not a silent sharing of
/// its load, which SO_REUSEPORT would otherwise make of it.
pub(crate) fn reserve(addresses: &[SocketAddr]) -> Result<Vec<Reserved>, ServeError> {
    let one = |address: SocketAddr| -> io::Result<Reserved> {
        // A listening socket of someone else refuses this bind only if we do not ask to share.
        let probe = Socket::new(Domain::for_address(address), Type::STREAM.cloexec(), Some(Protocol::TCP))?;
        probe.set_reuse_address(true)?;
        probe.bind(&address.into())?;
        let bound = probe.local_addr()?.as_socket().ok_or_else(|| io::Error::other("not an internet address"))?;
        drop(probe);
        let socket = shared(bound)?;
        Ok(Reserved { address: bound, _socket: socket })
    };
    addresses.iter().map(|address| one(*address).map_err(|error| ServeError::Listen(*address, error))).collect()
}

fn shared(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    // Accepted sockets inherit it: no system call a connection.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// A listener of one worker on a reserved address.
pub(crate) fn listener(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let listen = || {
        let socket = shared(address)?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    listen().map_err(|error| ServeError::Listen(address, error))
}
