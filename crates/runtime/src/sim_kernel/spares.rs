//! Descriptors of closed TCP sockets, kept for the next ones of the world: making and closing a real socket costs more than all
//! that a world does for a short connection.
//!
//! Invariants:
//! - A socket that is kept has the options of a new one with TCP_NODELAY.
//! - One that is closed behind the world's back is found when it would be used again.

use socket2::{Domain, SockRef, Socket, Type};
use std::os::fd::{AsFd, OwnedFd};

/// Sockets kept at most.
const MOST: usize = 64;

#[derive(Default)]
pub(crate) struct Spares {
    sockets: Vec<Socket>,
    /// SO_RCVBUF and SO_SNDBUF of a new socket.
    buffers: Option<[usize; 2]>,
}

impl Spares {
    /// Keeps a closed socket; returns it if it is to be closed really.
    pub fn keep(&mut self, fd: OwnedFd) -> Option<OwnedFd> {
        if self.sockets.len() >= MOST || !self.is_as_new(&SockRef::from(&fd)).unwrap_or(false) {
            return Some(fd);
        }
        self.sockets.push(fd.into());
        None
    }

    /// A socket that was kept, and whether it is open, as it should be.
    pub fn take(&mut self, domain: Domain) -> Option<(Socket, bool)> {
        let socket = self.sockets.pop_if(|_| domain == Domain::IPV4)?;
        let is_open = rustix::io::fcntl_getfd(socket.as_fd()).is_ok();
        Some((socket, is_open))
    }

    fn is_as_new(&mut self, socket: &SockRef<'_>) -> std::io::Result<bool> {
        let is_tcp = socket.domain()? == Domain::IPV4 && socket.r#type()? == Type::STREAM;
        if !is_tcp || !socket.tcp_nodelay()? || socket.linger()?.is_some() || socket.keepalive()? {
            return Ok(false);
        }
        if socket.reuse_address()? || socket.reuse_port()? {
            return Ok(false);
        }
        let new = match self.buffers {
            Some(new) => new,
            None => buffers(&SockRef::from(&Socket::new(Domain::IPV4, Type::STREAM, None)?))?,
        };
        self.buffers = Some(new);
        Ok(buffers(socket)? == new)
    }
}

fn buffers(socket: &SockRef<'_>) -> std::io::Result<[usize; 2]> {
    Ok([socket.recv_buffer_size()?, socket.send_buffer_size()?])
}
