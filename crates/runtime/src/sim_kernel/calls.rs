//! System calls outside the ring, for sockets of the active world. `None`: no world is active, the real kernel answers.
//!
//! Descriptors are real ones, connected to nothing: options are set on them and closing closes them. Names, listening,
//! connecting, shutting down and data are the world's.

use super::active::active;
use super::machine::{Machine, State};
use super::socket::{self, Name};
use socket2::{Domain, SockAddr, SockRef, Socket};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;

type Answer<T> = Option<io::Result<T>>;

/// A call of the active world: takes its time, and passes the time at which it happens.
fn call<T>(f: impl FnOnce(&mut State, u64) -> T) -> Option<T> {
    let machine: Rc<Machine> = active()?;
    machine.clock.spend(machine.clock.call.get());
    let at = machine.clock.elapsed();
    let mut state = machine.state.borrow_mut();
    Some(f(&mut state, at))
}

/// Whether a descriptor is one of the active world; others are left to the real kernel.
fn known(fd: RawFd) -> Option<()> {
    active()?.state.borrow().by_descriptor(fd).map(|_| ())
}

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "a simulated world has no such socket")
}

fn name(address: &SockAddr) -> io::Result<Name> {
    Name::of(address).ok_or_else(unsupported)
}

pub(crate) fn is_active() -> bool {
    active().is_some()
}

pub(crate) fn bind(fd: RawFd, address: &SockAddr, reuse_port: bool, datagrams: bool) -> Answer<()> {
    call(|state, at| state.bind(fd, name(address)?, reuse_port, datagrams, at))
}

pub(crate) fn listen(fd: RawFd, backlog: i32) -> Answer<()> {
    call(|state, _| state.listen(fd, backlog))
}

pub(crate) fn accept(fd: RawFd) -> Answer<OwnedFd> {
    known(fd)?;
    call(|state, at| state.accept(state.by_descriptor(fd).ok_or_else(unsupported)?, at))
}

pub(crate) fn connect_unix(fd: RawFd, address: &SockAddr) -> Answer<()> {
    call(|state, at| state.connect_unix(fd, name(address)?, at))
}

pub(crate) fn pair(one: RawFd, other: RawFd) -> Option<()> {
    call(|state, at| state.pair(one, other, at))
}

pub(crate) fn local_addr(fd: RawFd) -> Answer<SockAddr> {
    known(fd)?;
    call(|state, _| {
        let socket = state.by_descriptor(fd).ok_or_else(unsupported)?;
        let of = state.sockets.get(socket).ok_or_else(unsupported)?;
        let any = || if of.is_unix { Name::unnamed() } else { Name::Inet(([0, 0, 0, 0], 0).into()) };
        of.local.clone().unwrap_or_else(any).address()
    })
}

pub(crate) fn peer_addr(fd: RawFd) -> Answer<SockAddr> {
    known(fd)?;
    call(|state, _| {
        let socket = state.by_descriptor(fd).ok_or_else(unsupported)?;
        let of = state.sockets.get(socket).ok_or_else(unsupported)?;
        let connected = of.state == socket::State::Connected && !of.reset;
        let remote = of.remote.clone().filter(|_| connected);
        remote.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOTCONN))?.address()
    })
}

pub(crate) fn shutdown(fd: RawFd, how: Shutdown) -> Answer<()> {
    known(fd)?;
    let (read, write) = (how != Shutdown::Write, how != Shutdown::Read);
    call(|state, at| {
        let socket = state.by_descriptor(fd).ok_or_else(unsupported)?;
        match state.shut(socket, [read, write], at) {
            0 => Ok(()),
            errno => Err(io::Error::from_raw_os_error(errno)),
        }
    })
}

/// `SO_ERROR`.
pub(crate) fn take_error(fd: RawFd) -> Answer<Option<io::Error>> {
    known(fd)?;
    call(|state, _| {
        let socket = state.by_descriptor(fd).and_then(|socket| state.sockets.get(socket)).ok_or_else(unsupported)?;
        Ok(Some(std::mem::take(&mut socket.errno)).filter(|errno| *errno != 0).map(io::Error::from_raw_os_error))
    })
}

/// Sends what fits.
pub(crate) fn send(fd: RawFd, pieces: &[IoSlice<'_>]) -> Answer<usize> {
    known(fd)?;
    let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
    call(|state, at| state.send_now(state.by_descriptor(fd).ok_or_else(unsupported)?, &bytes, at))
}

/// Receives what there is.
pub(crate) fn receive(fd: RawFd, into: &mut [MaybeUninit<u8>]) -> Answer<usize> {
    known(fd)?;
    call(|state, at| {
        let bytes = state.receive_now(state.by_descriptor(fd).ok_or_else(unsupported)?, into.len(), at)?;
        into.iter_mut().zip(&bytes).for_each(|(slot, byte)| _ = slot.write(*byte));
        Ok(bytes.len())
    })
}

/// Bytes that the peer has not acknowledged.
pub(crate) fn unsent(fd: RawFd) -> Option<usize> {
    known(fd)?;
    call(|state, at| {
        let peer = state.by_descriptor(fd).and_then(|socket| state.sockets.get(socket)).map(|of| of.peer);
        peer.and_then(|peer| state.sockets.get(peer)).map_or(0, |peer| peer.inbound.unacked(at))
    })
}

/// A descriptor is about to be closed.
pub(crate) fn close(fd: RawFd) {
    // Not in the middle of a call of the world, whose state is borrowed then: it closes no descriptor itself.
    call(|state, at| state.close_descriptor(fd, true, at));
}

/// Keeps the descriptor of a socket that was closed; returns it if it is to be closed really.
pub(crate) fn keep(fd: OwnedFd) -> Option<OwnedFd> {
    match active() {
        Some(machine) => machine.state.borrow_mut().spares.keep(fd),
        None => Some(fd),
    }
}

/// A socket with TCP_NODELAY that was kept.
pub(crate) fn spare(domain: Domain) -> Option<Socket> {
    active()?.state.borrow_mut().spare(domain)
}

fn inode(fd: RawFd) -> Option<u64> {
    // SAFETY: an all-zero `stat` is valid.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call; a closed descriptor is an error.
    (unsafe { libc::fstat(fd, &raw mut stat) } == 0).then_some(stat.st_ino)
}

/// A descriptor comes into a runtime: it must be one of the world, or a duplicate of one.
pub(crate) fn adopt(fd: RawFd) -> Answer<()> {
    call(|state, at| {
        if state.by_descriptor(fd).is_some() {
            return Ok(());
        }
        let this = inode(fd);
        let found = state.all_descriptors().find(|(other, _)| inode(*other) == this).map(|(_, socket)| socket);
        state.describe(fd, found.ok_or_else(unsupported)?, at);
        Ok(())
    })
}

/// The program has set SO_RCVBUF or SO_SNDBUF.
pub(crate) fn buffers_changed(fd: BorrowedFd<'_>) {
    let options = SockRef::from(&fd);
    let (receive, send) = (options.recv_buffer_size(), options.send_buffer_size());
    call(|state, _| {
        let of = state.by_descriptor(fd.as_raw_fd()).and_then(|socket| state.sockets.get(socket));
        let Some(of) = of else { return };
        // The kernel reports twice what was asked for; the other half is for its own needs.
        of.inbound.window = receive.map_or(of.inbound.window, |bytes| (bytes / 2).max(1));
        let peer = of.peer;
        if let Some(peer) = state.sockets.get(peer) {
            peer.inbound.send_buffer = send.map_or(peer.inbound.send_buffer, |bytes| (bytes / 2).max(1));
        }
    });
}

/// How many connections wait at a listener, and the limit.
pub(crate) fn queue(fd: RawFd) -> Answer<(u32, u32)> {
    known(fd)?;
    call(|state, _| {
        let of = state.by_descriptor(fd).and_then(|socket| state.sockets.get(socket));
        let of = of.filter(|of| of.state == socket::State::Listening).ok_or_else(unsupported)?;
        Ok((of.waiting.len() as u32, of.backlog as u32))
    })
}

pub(crate) fn connect_datagrams(fd: RawFd, to: SocketAddr) -> Answer<()> {
    call(|state, _| state.connect_datagrams(fd, to))
}

pub(crate) fn send_datagram(fd: RawFd, bytes: &[u8], to: Option<SocketAddr>) -> Answer<usize> {
    call(|state, at| state.send_datagram(fd, bytes, to, at))
}

pub(crate) fn receive_datagram(fd: RawFd, into: &mut [u8]) -> Answer<(usize, usize, SocketAddr)> {
    call(|state, _| state.receive_datagram(fd, into))
}
