//! Listening addresses: bound once exclusively, so that two servers never share a port, then listened on by every worker.

use crate::ServeError;
use brunt_runtime::net::std_socket;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// Backlog; the kernel lowers it to net.core.somaxconn.
const BACKLOG: i32 = 65_535;

/// An address that this server listens on exclusively.
#[derive(Debug)]
pub(crate) struct Reserved {
    /// As bound: port 0 replaced by the assigned port.
    pub address: SocketAddr,
    only_v6: bool,
    /// The exclusive listener, until a worker takes it.
    first: Mutex<Option<TcpListener>>,
}

/// Listens on every address; with `share`, workers can add listeners of their own (SO_REUSEPORT).
///
/// A second server on the same port is an error, even if both start at the same time: SO_REUSEPORT is set only after
/// listening, and of two sockets without it the kernel lets only one listen.
pub(crate) fn reserve(addresses: &[SocketAddr], share: bool) -> Result<Vec<Reserved>, ServeError> {
    let mut reserved: Vec<Reserved> = Vec::new();
    for address in addresses {
        if address.port() != 0 && reserved.iter().any(|reserved| reserved.address == *address) {
            continue;
        }
        // The IPv6 wildcard includes IPv4 unless IPv4 is listed with the same port.
        let v4_too = addresses.iter().any(|other| other.is_ipv4() && other.port() == address.port());
        let only_v6 = address.port() != 0 && v4_too && matches!(address.ip(), IpAddr::V6(ip) if ip.is_unspecified());
        let one = || -> io::Result<Reserved> {
            let socket = bind(*address, only_v6, false)?;
            std_socket::listen(&socket, BACKLOG)?;
            if share {
                socket.set_reuse_port(true)?;
            }
            let bound = std_socket::local_addr(&socket)?;
            Ok(Reserved { address: bound, only_v6, first: Mutex::new(Some(socket.into())) })
        };
        reserved.push(one().map_err(|error| ServeError::Listen(*address, error))?);
    }
    Ok(reserved)
}

impl Reserved {
    pub(crate) fn adopt(listener: TcpListener, address: SocketAddr, only_v6: bool) -> Self {
        Self { address, only_v6, first: Mutex::new(Some(listener)) }
    }

    pub(crate) fn only_v6(&self) -> bool {
        self.only_v6
    }

    pub fn listener(&self) -> Result<TcpListener, ServeError> {
        if let Some(first) = self.first.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Ok(first);
        }
        let another = || {
            let socket = bind(self.address, self.only_v6, true)?;
            std_socket::listen(&socket, BACKLOG)?;
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
    // Inherited by accepted sockets, which saves a system call per connection.
    socket.set_tcp_nodelay(true)?;
    std_socket::bind(&socket, address)?;
    Ok(socket)
}
