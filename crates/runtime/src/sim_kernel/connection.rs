//! Names, listeners and the way from a connect to an accepted connection.
//!
//! ```text
//! connect -- Syn --> listener's queue has room: the server's socket exists
//!         <-- Connected --   (or refused, or the Syn is dropped and sent again after 1, 2, 4 ... s)
//!         -- Established --> waits in the queue -> accept
//! ```

use super::machine::{Event, State};
use super::pipe::Pipe;
use super::ring_state::Request;
use super::socket::{self, Name, Socket, destination, source};
use crate::{driver::user_data::OpKind, slab::Key};
use socket2::{Domain, SockRef, Type};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::{io, time::Duration};

/// Attempts of a connect whose packets are dropped (net.ipv4.tcp_syn_retries).
const SYN_RETRIES: u8 = 6;
const SECOND: u64 = 1_000_000_000;

fn error(errno: i32) -> io::Error {
    io::Error::from_raw_os_error(errno)
}

impl State {
    /// The socket of a descriptor, which belongs to this world from now on.
    pub fn socket_of(&mut self, fd: RawFd, is_unix: bool, at: u64) -> Key {
        self.by_descriptor(fd).unwrap_or_else(|| {
            let socket = self.open(Socket { is_unix, ..Socket::default() });
            self.describe(fd, socket, at);
            socket
        })
    }

    pub fn bind(&mut self, fd: RawFd, name: Name, reuse_port: bool, datagrams: bool, at: u64) -> io::Result<()> {
        let name = match name {
            Name::Inet(address) => Name::Inet(self.names.take(datagrams, address, reuse_port)?),
            // The kernel replaces an empty path by a free abstract name of five digits.
            Name::Unix(path) if path.as_os_str().is_empty() => {
                self.names.abstract_names += 1;
                Name::Unix(format!("\0{:05x}", self.names.abstract_names).into())
            }
            name if self.names.listeners.contains_key(&name) => return Err(error(libc::EADDRINUSE)),
            name => name,
        };
        let socket = self.socket_of(fd, matches!(name, Name::Unix(_)), at);
        let Some(of) = self.sockets.get(socket) else { return Err(error(libc::EBADF)) };
        if let (true, Name::Inet(address)) = (datagrams, &name) {
            self.names.datagrams.insert(*address, socket);
            of.state = socket::State::Datagrams;
        }
        (of.local, of.reuse_port) = (Some(name), reuse_port);
        Ok(())
    }

    pub fn listen(&mut self, fd: RawFd, backlog: i32) -> io::Result<()> {
        let Some(socket) = self.by_descriptor(fd) else { return Err(error(libc::EINVAL)) };
        let limit = self.settings.backlog;
        let Some(of) = self.sockets.get(socket) else { return Err(error(libc::EBADF)) };
        let Some(name) = of.local.clone() else { return Err(error(libc::EINVAL)) };
        of.state = socket::State::Listening;
        of.backlog = usize::try_from(backlog).unwrap_or(0).min(limit);
        // SAFETY: the caller's descriptor is open through the call.
        of.nodelay = SockRef::from(&unsafe { BorrowedFd::borrow_raw(fd) }).tcp_nodelay().unwrap_or(false);
        self.names.listeners.entry(name).or_default().push(socket);
        Ok(())
    }

    /// A connect on a ring. Its result is the completion of the request.
    pub fn connect(&mut self, socket: Key, to: Option<SocketAddr>, at: u64) {
        let errno = match to.map(|to| self.begin_connect(socket, destination(to))) {
            None => libc::EAFNOSUPPORT,
            Some(Err(error)) => error.raw_os_error().unwrap_or(libc::EIO),
            Some(Ok(())) if !self.random.happens(self.settings.faults.refused) => {
                let delay = self.delay_from(socket);
                return self.schedule(at + delay, Event::Syn { from: socket, attempt: 0 });
            }
            Some(Ok(())) => libc::ECONNREFUSED,
        };
        let there_and_back = self.delay_from(socket) + self.delay_to(socket);
        self.schedule(at + there_and_back, Event::Connected { client: socket, errno });
    }

    fn begin_connect(&mut self, socket: Key, to: SocketAddr) -> io::Result<()> {
        let link = self.links.iter().position(|(of, _)| *of == Some(to)).unwrap_or(0);
        let bound = self.sockets.get(socket).and_then(|of| of.local_inet());
        let local = bound.map_or_else(|| self.names.take(false, source(to), false), Ok)?;
        let Some(of) = self.sockets.get(socket) else { return Err(error(libc::EBADF)) };
        (of.state, of.is_client, of.link) = (socket::State::Connecting, true, link);
        (of.local, of.remote) = (Some(Name::Inet(local)), Some(Name::Inet(to)));
        let number = of.number;
        self.trace.note(0, "connect", number, i64::from(to.port()));
        Ok(())
    }

    fn pipe(&self) -> Pipe {
        Pipe::new(self.settings.receive_window, self.settings.send_buffer)
    }

    /// A listener for that name, one of several by chance.
    fn listener(&mut self, name: &Name) -> Option<Key> {
        let found = self.names.listeners_for(name);
        let many = found.len();
        let nth = if many > 1 { self.random.below(many as u64) as usize } else { 0 };
        self.names.listeners_for(name).get(nth).copied()
    }

    /// Creates the accepting end of a connection and joins it to `client`.
    fn join(&mut self, client: Key) -> Key {
        let (near, far) = (self.pipe(), self.pipe());
        let Some(of) = self.sockets.get(client) else { return Key::default() };
        let server = Socket {
            state: socket::State::Connected,
            is_unix: of.is_unix,
            local: of.remote.clone(),
            remote: of.local.clone().or(of.is_unix.then(Name::unnamed)),
            peer: client,
            link: of.link,
            inbound: far,
            ..Socket::default()
        };
        let server = self.open(server);
        if let Some(of) = self.sockets.get(client) {
            (of.peer, of.inbound) = (server, near);
        }
        server
    }

    pub fn syn(&mut self, from: Key, attempt: u8, at: u64) {
        let Some(name) = self.sockets.get(from).and_then(|client| client.remote.clone()) else { return };
        let (there, back) = (self.delay_from(from), self.delay_to(from));
        let Some(listener) = self.listener(&name) else {
            return self.schedule(at + back, Event::Connected { client: from, errno: libc::ECONNREFUSED });
        };
        let Some(of) = self.sockets.get(listener) else { return };
        if of.waiting.len() + of.handshakes > of.backlog {
            let number = of.number;
            self.trace.note(at, "drop", number, attempt.into());
            let later = at + (SECOND << attempt);
            let timed_out = Event::Connected { client: from, errno: libc::ETIMEDOUT };
            let again = Event::Syn { from, attempt: attempt + 1 };
            return self.schedule(later, if attempt == SYN_RETRIES { timed_out } else { again });
        }
        of.handshakes += 1;
        let server = self.join(from);
        self.schedule(at + back, Event::Connected { client: from, errno: 0 });
        self.schedule(at + back + there, Event::Established { listener, server });
    }

    /// A connect ends.
    pub fn connected(&mut self, client: Key, errno: i32, at: u64) {
        let Some(of) = self.sockets.get(client).filter(|of| of.state == socket::State::Connecting) else { return };
        of.state = if errno == 0 { socket::State::Connected } else { socket::State::Fresh };
        let (number, server) = (of.number, of.peer);
        let is_connect = |request: &Request| request.kind == OpKind::Connect;
        let request = of.requests.iter().position(is_connect).map(|nth| of.requests.remove(nth));
        self.trace.note(at, "connected", number, errno.into());
        if let Some(Request { ring, kind, key, .. }) = request {
            self.post(ring, kind, key, -errno, 0, at);
        }
        if let Some(server) = self.sockets.get(server) {
            server.confirmed = true;
        }
        self.notify_now(client, [true, true], at);
    }

    /// The last packet of a handshake arrives.
    pub fn established(&mut self, listener: Key, server: Key, at: u64) {
        let Some(of) = self.sockets.get(server) else { return };
        // Otherwise the client has given up before it knew of the connection.
        let (confirmed, number) = (of.confirmed, of.number);
        let Some(queue) = self.sockets.get(listener) else {
            return self.close_stream(server, true, at);
        };
        queue.handshakes -= 1;
        if !confirmed {
            self.sockets.remove(server);
            return;
        }
        queue.waiting.push_back(server);
        self.trace.note(at, "waits", number, 0);
        self.notify(listener, true, at);
    }

    /// Takes the connection that has waited longest.
    pub fn accept(&mut self, listener: Key, at: u64) -> io::Result<OwnedFd> {
        let listening = |of: &&mut Socket| of.state == socket::State::Listening;
        let of = self.sockets.get(listener).filter(listening).ok_or_else(|| error(libc::EINVAL))?;
        let (server, nodelay) = (*of.waiting.front().ok_or(io::ErrorKind::WouldBlock)?, of.nodelay);
        if self.random.happens(self.settings.faults.interrupted) {
            return Err(error(libc::EINTR));
        }
        if self.random.happens(self.settings.faults.out_of_descriptors) {
            return Err(error(libc::EMFILE));
        }
        let is_unix = self.sockets.get(server).is_some_and(|of| of.is_unix);
        let fd = self.handle(is_unix, nodelay)?;
        self.sockets.get(listener).and_then(|of| of.waiting.pop_front());
        self.describe(fd.as_raw_fd(), server, at);
        let number = self.number(server);
        self.trace.note(at, "accept", number, 0);
        Ok(fd)
    }

    /// Connecting a Unix socket completes at once.
    pub fn connect_unix(&mut self, fd: RawFd, name: Name, at: u64) -> io::Result<()> {
        let missing = |name: &Name| match name {
            Name::Unix(path) if path.as_os_str().as_encoded_bytes().first() != Some(&0) => libc::ENOENT,
            _ => libc::ECONNREFUSED,
        };
        let Some(listener) = self.listener(&name) else { return Err(error(missing(&name))) };
        let Some(of) = self.sockets.get(listener) else { return Err(error(libc::ECONNREFUSED)) };
        if of.waiting.len() > of.backlog {
            return Err(error(libc::EAGAIN));
        }
        let client = self.socket_of(fd, true, at);
        if let Some(of) = self.sockets.get(client) {
            (of.state, of.is_client, of.remote) = (socket::State::Connected, true, Some(name));
        }
        let server = self.join(client);
        if let Some(of) = self.sockets.get(listener) {
            of.waiting.push_back(server);
        }
        self.notify(listener, true, at);
        Ok(())
    }

    /// Two Unix sockets joined to each other.
    pub fn pair(&mut self, one: RawFd, other: RawFd, at: u64) {
        let client = self.socket_of(one, true, at);
        if let Some(of) = self.sockets.get(client) {
            (of.state, of.remote) = (socket::State::Connected, Some(Name::unnamed()));
        }
        let server = self.join(client);
        self.describe(other, server, at);
    }

    /// A descriptor was closed. With the last one, its socket is.
    pub fn close_descriptor(&mut self, fd: RawFd, is_open: bool, at: u64) {
        let Some(socket) = self.by_descriptor(fd) else { return };
        self.forget_descriptor(fd);
        let Some(of) = self.sockets.get(socket) else { return };
        of.descriptors -= 1;
        let (number, state) = (of.number, of.state);
        let (local, datagrams) = (of.local_inet(), state == socket::State::Datagrams);
        if of.descriptors > 0 {
            return;
        }
        let open: Vec<_> = of.requests.iter().map(|request| (request.ring, request.kind, request.key)).collect();
        for (ring, kind, key) in open {
            if matches!(kind, OpKind::WatchInput | OpKind::WatchOutput) {
                // A poll holds the file itself, and would be cancelled by its owner.
                self.post(ring, kind, key, -libc::ECANCELED, 0, at);
            } else if !self.rings[ring].closed {
                self.report(format!("{kind:?} of socket {number} is open and its descriptor closed"));
            }
        }
        self.trace.note(at, "close", number, 0);
        match state {
            socket::State::Listening => self.close_listener(socket, at),
            socket::State::Datagrams => {
                self.sockets.remove(socket);
                if let Some(address) = local {
                    self.names.datagrams.remove(&address);
                }
            }
            _ => {
                // SAFETY: the caller closes the descriptor after this call.
                let linger =
                    is_open.then(|| SockRef::from(&unsafe { BorrowedFd::borrow_raw(fd) }).linger().ok().flatten());
                let zero = linger.flatten() == Some(Duration::ZERO);
                let accepted = self.sockets.get(socket).is_some_and(|of| !of.is_client && of.peer != Key::default());
                self.close_stream(socket, zero, at);
                // It shares the address of its listener.
                if accepted {
                    return;
                }
            }
        }
        if let Some(local) = local
            && !self.names.listeners.contains_key(&Name::Inet(local))
        {
            self.names.release(datagrams, local);
        }
    }

    /// A socket with TCP_NODELAY that was closed.
    pub fn spare(&mut self, domain: Domain) -> Option<socket2::Socket> {
        let (socket, is_open) = self.spares.take(domain)?;
        if is_open {
            return Some(socket);
        }
        self.report(format!("descriptor {} was closed twice", socket.into_raw_fd()));
        None
    }

    /// A descriptor of an accepted socket: a real one, for options and for being closed, that is connected to nothing.
    fn handle(&mut self, is_unix: bool, nodelay: bool) -> io::Result<OwnedFd> {
        let domain = if is_unix { Domain::UNIX } else { Domain::IPV4 };
        let inherits = nodelay && !is_unix;
        if let Some(spare) = inherits.then(|| self.spare(domain)).flatten() {
            return Ok(spare.into());
        }
        let socket = socket2::Socket::new(domain, Type::STREAM.nonblocking().cloexec(), None)?;
        if inherits {
            socket.set_tcp_nodelay(true)?;
        }
        Ok(socket.into())
    }

    fn close_listener(&mut self, listener: Key, at: u64) {
        let Some(of) = self.sockets.remove(listener) else { return };
        if let Some(name) = of.local
            && let Some(others) = self.names.listeners.get_mut(&name)
        {
            others.retain(|other| *other != listener);
            if others.is_empty() {
                self.names.listeners.remove(&name);
            }
        }
        for server in of.waiting {
            self.close_stream(server, true, at);
        }
    }
}
