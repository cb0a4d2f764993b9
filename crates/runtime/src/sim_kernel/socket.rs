//! A socket of a world, and the names by which sockets are found.

use super::pipe::Pipe;
use super::ring_state::Request;
use crate::slab::Key;
use socket2::SockAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::{io, os::unix::ffi::OsStrExt, path::PathBuf};

/// The address of a socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Inet(SocketAddr),
    /// A path, empty without a name; one that begins with a zero byte is an abstract name.
    Unix(PathBuf),
}

impl Name {
    pub fn unnamed() -> Self {
        Self::Unix(PathBuf::new())
    }

    pub fn of(address: &SockAddr) -> Option<Self> {
        let unix = || {
            let abstract_name = address.as_abstract_namespace().map(|name| [b"\0", name].concat());
            let name = abstract_name.map(|name| std::ffi::OsStr::from_bytes(&name).into());
            address.as_pathname().map(PathBuf::from).or(name).or_else(|| address.is_unix().then(PathBuf::new))
        };
        address.as_socket().map(Self::Inet).or_else(|| unix().map(Self::Unix))
    }

    pub fn address(&self) -> io::Result<SockAddr> {
        match self {
            Self::Inet(address) => Ok((*address).into()),
            Self::Unix(path) => SockAddr::unix(path),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// Bound at most.
    #[default]
    Fresh,
    Connecting,
    Connected,
    Listening,
    Datagrams,
}

#[derive(Default)]
pub(crate) struct Socket {
    pub state: State,
    pub is_unix: bool,
    /// Number in the trace.
    pub number: u32,
    /// Open descriptors; a socket not accepted yet has none.
    pub descriptors: u32,
    pub local: Option<Name>,
    pub remote: Option<Name>,
    /// Requests of all rings that name it.
    pub requests: Vec<Request>,

    /// Streams: the other end, gone once it is closed, and the bytes from it.
    pub peer: Key,
    pub inbound: Pipe,
    /// The side that connected.
    pub is_client: bool,
    /// The accepting end of a connection, as seen from the connecting end.
    pub confirmed: bool,
    /// Index of its link.
    pub link: usize,
    /// Pending error, reported once.
    pub errno: i32,
    /// Neither direction works any more.
    pub reset: bool,
    pub write_shut: bool,
    pub read_shut: bool,

    /// Listeners: the most that may wait, those that wait, and those in their handshake.
    pub backlog: usize,
    pub reuse_port: bool,
    /// TCP_NODELAY, which accepted sockets inherit.
    pub nodelay: bool,
    pub waiting: VecDeque<Key>,
    pub handshakes: usize,

    /// Datagrams received: sender and bytes.
    pub datagrams: VecDeque<(SocketAddr, Box<[u8]>)>,
    pub datagram_bytes: usize,
}

impl Socket {
    pub fn local_inet(&self) -> Option<SocketAddr> {
        if let Some(Name::Inet(address)) = &self.local { Some(*address) } else { None }
    }

    pub fn remote_inet(&self) -> Option<SocketAddr> {
        if let Some(Name::Inet(address)) = &self.remote { Some(*address) } else { None }
    }
}

/// First and last port that the kernel chooses (net.ipv4.ip_local_port_range).
const PORTS: (u16, u16) = (32_768, 60_999);

/// The names in use.
#[derive(Default)]
pub(crate) struct Names {
    /// Stream sockets that listen; several on one address with SO_REUSEPORT.
    pub listeners: BTreeMap<Name, Vec<Key>>,
    /// Bound to that address, by transport: TCP, then UDP. A simulated port serves one connecting socket at a time.
    taken: [BTreeSet<SocketAddr>; 2],
    pub datagrams: BTreeMap<SocketAddr, Key>,
    last_port: u16,
    /// Chosen so far.
    pub abstract_names: u32,
}

impl Names {
    fn is_taken(&self, transport: usize, address: SocketAddr) -> bool {
        let of_port = |ip: IpAddr| self.taken[transport].contains(&SocketAddr::new(ip, address.port()));
        let any = if address.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
        of_port(address.ip()) || of_port(any)
    }

    /// Takes an address; chooses the port if it is 0.
    pub fn take(&mut self, datagrams: bool, mut address: SocketAddr, shared: bool) -> io::Result<SocketAddr> {
        let transport = usize::from(datagrams);
        if address.port() != 0 {
            let other = address.ip().is_unspecified()
                && self.taken[transport].iter().any(|taken| taken.port() == address.port());
            if (self.is_taken(transport, address) || other) && !shared {
                return Err(io::Error::from_raw_os_error(libc::EADDRINUSE));
            }
            self.taken[transport].insert(address);
            return Ok(address);
        }
        for _ in PORTS.0..=PORTS.1 {
            self.last_port = if (PORTS.0..PORTS.1).contains(&self.last_port) { self.last_port + 1 } else { PORTS.0 };
            address.set_port(self.last_port);
            if !self.is_taken(transport, address) {
                self.taken[transport].insert(address);
                return Ok(address);
            }
        }
        Err(io::Error::from_raw_os_error(libc::EADDRNOTAVAIL))
    }

    pub fn release(&mut self, datagrams: bool, address: SocketAddr) {
        self.taken[usize::from(datagrams)].remove(&address);
    }

    /// The listeners that a connect to that address reaches.
    pub fn listeners_for(&self, name: &Name) -> &[Key] {
        let at = |name: &Name| self.listeners.get(name).map(Vec::as_slice);
        let any_v4 = |port: u16| at(&Name::Inet((Ipv4Addr::UNSPECIFIED, port).into()));
        let any_v6 = |port: u16| at(&Name::Inet((Ipv6Addr::UNSPECIFIED, port).into()));
        let any = || match name {
            // A socket on [::] takes IPv4 too (net.ipv6.bindv6only is 0).
            Name::Inet(SocketAddr::V4(address)) => any_v4(address.port()).or_else(|| any_v6(address.port())),
            Name::Inet(SocketAddr::V6(address)) => any_v6(address.port()),
            Name::Unix(_) => None,
        };
        at(name).or_else(any).unwrap_or(&[])
    }
}

/// Where a connect to that address goes: the unspecified address is this host.
pub(crate) fn destination(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => (),
    }
    address
}

/// The address from which the kernel connects to `to`: every address is one of this host.
pub(crate) fn source(to: SocketAddr) -> SocketAddr {
    let ip = if to.ip().is_loopback() && to.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { to.ip() };
    SocketAddr::new(ip, 0)
}
