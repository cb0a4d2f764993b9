//! System calls on TCP sockets that no runtime has adopted yet. In a simulated world (feature `sim`) the world answers, so that
//! code which prepares its sockets itself runs there too.

use crate::sys;
use socket2::SockRef;
use std::{io, net::SocketAddr, os::fd::AsFd};

/// Binds a socket: bind(2).
///
/// # Errors
/// Those of the system call.
pub fn bind(socket: &impl AsFd, address: SocketAddr) -> io::Result<()> {
    sys::bind(&SockRef::from(socket), &address.into())
}

/// Makes a socket listen: listen(2).
///
/// # Errors
/// Those of the system call.
pub fn listen(socket: &impl AsFd, backlog: i32) -> io::Result<()> {
    sys::listen(&SockRef::from(socket), backlog)
}

/// The address of a socket: getsockname(2).
///
/// # Errors
/// Those of the system call, or the socket is not one of the internet.
pub fn local_addr(socket: &impl AsFd) -> io::Result<SocketAddr> {
    let address = sys::local_addr(&SockRef::from(socket))?;
    address.as_socket().ok_or_else(|| io::Error::other("not an internet address"))
}
