//! Addresses: reserved once, so that a server never shares a port with another one, then listened on by every worker.

use crate::ServeError;
use socket2::{Domain, Protocol, Socket, Type};
use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener},
    sync::{Mutex, PoisonError},
};

/// Pending connections the kernel keeps; it lowers this to net.core.somaxconn.
const BACKLOG: i32 = 65_535;

/// An address that is ours: it is listened on, and nobody else gets the port.
#[derive(Debug)]
pub(crate) struct Reserved {
    /// Port 0 has become a real port.
    pub address: SocketAddr,
    only_v6: bool,
    /// The listener that keeps others away, until a worker takes it.
    first: Mutex<Option<TcpListener>>,
}

/// Listens on every address, for one worker or for several to share.
///
/// A second server on the same port is an error here and not a silent sharing of its load, which SO_REUSEPORT would make
/// of it, not even when both start at the same moment: the kernel lets only one of two sockets listen that do not ask to
/// share, and ours asks only when it listens.
pub(crate) fn reserve(addresses: &[SocketAddr], share: bool) -> Result<Vec<Reserved>, ServeError> {
    let mut reserved: Vec<Reserved> = Vec::new();
    for address in addresses {
        if address.port() != 0 && reserved.iter().any(|reserved| reserved.address == *address) {
            continue;
        }
        // The wildcard of IPv6 takes IPv4 as well, unless that is asked for by itself.
        let v4_too = addresses.iter().any(|other| other.is_ipv4() && other.port() == address.port());
        let only_v6 = address.port() != 0 && v4_too && matches!(address.ip(), IpAddr::V6(ip) if ip.is_unspecified());
        let one = || -> io::Result<Reserved> {
            let socket = bind(*address, only_v6, false)?;
            socket.listen(BACKLOG)?;
            if share {
                socket.set_reuse_port(true)?;
            }
            let bound = socket.local_addr()?.as_socket().ok_or_else(|| io::Error::other("not an internet address"))?;
            Ok(Reserved { address: bound, only_v6, first: Mutex::new(Some(socket.into())) })
        };
        reserved.push(one().map_err(|error| ServeError::Listen(*address, error))?);
    }
    Ok(reserved)
}

impl Reserved {
    /// An address that another process has reserved and given us a listener for.
    pub(crate) fn adopt(listener: TcpListener, address: SocketAddr, only_v6: bool) -> Self {
        Self { address, only_v6, first: Mutex::new(Some(listener)) }
    }

    /// What another process has to know to share it.
    pub(crate) fn only_v6(&self) -> bool {
        self.only_v6
    }

    /// A listener for one worker.
    pub fn listener(&self) -> Result<TcpListener, ServeError> {
        if let Some(first) = self.first.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Ok(first);
        }
        let another = || {
            let socket = bind(self.address, self.only_v6, true)?;
            socket.listen(BACKLOG)?;
            Ok(socket.into())
        };
        another().map_err(|error| ServeError::Listen(self.address, error))
    }
}

fn bind(address: SocketAddr, only_v6: bool, share: bool) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(share)?;
    if only_v6 {
        socket.set_only_v6(true)?;
    }
    // Accepted sockets inherit it: no system call a connection.
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
