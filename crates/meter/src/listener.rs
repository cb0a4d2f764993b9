//! Finds the processes that listen on an address.
//!
//! sock_diag(7), or `/proc/net/tcp` and `tcp6`, list listening sockets with their inodes; a process holds a socket if one of its
//! descriptors links to the inode. Covers this network namespace only: a server in a container with its own network is not found, even
//! if its port is forwarded. Never guesses: a foreign address or an invisible process is an error.

use crate::proc::Stat;
use crate::sock_diag;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The processes that listen on an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listeners {
    /// All holders of a listening socket, in ascending order.
    pub pids: Vec<u32>,
    /// Processes from which all of them descend, usually one: the trees to meter.
    pub roots: Vec<u32>,
}

/// Finds the processes that listen on an address, `IP:PORT` or `unix:PATH`. The error says why there are none, with a remedy.
pub fn find(address: impl ToString) -> Result<Listeners, String> {
    let address = address.to_string();
    match address.strip_prefix("unix:") {
        Some(path) => find_unix(path),
        None => find_tcp(
            address
                .parse()
                .map_err(|_| format!("'{address}' is not an address such as 127.0.0.1:8080 or unix:/run/a.sock"))?,
        ),
    }
}

/// The processes to meter of a server with these addresses. All or none: a subset would give a wrong sum.
pub fn roots_of<A: ToString>(addresses: &[A]) -> Result<Vec<u32>, String> {
    let mut pids = Vec::new();
    for address in addresses {
        for pid in find(address.to_string())?.roots {
            if !pids.contains(&pid) {
                pids.push(pid);
            }
        }
    }
    Ok(pids)
}

fn find_tcp(address: SocketAddr) -> Result<Listeners, String> {
    if !is_local(address.ip()) {
        return Err(format!("{address} is not an address of this machine, so its server cannot be metered from here"));
    }
    let inodes = listening_inodes(address);
    if inodes.is_empty() {
        return Err(format!(
            "no socket of this network namespace listens on {address}; if the server runs in a container, name its \
             process with --server-pid"
        ));
    }
    let (holders, hidden) = holders(&inodes);
    if holders.is_empty() {
        return Err(format!(
            "the process that listens on {address} cannot be seen ({hidden} processes are not accessible); run as \
             its user or as root, or name it with --server-pid"
        ));
    }
    Ok(Listeners { roots: roots(&holders), pids: holders.into_iter().collect() })
}

/// Inodes of the sockets that listen on an address, `IP:PORT` or `unix:PATH`: a cheap way to see that
/// another socket listens there now.
pub fn sockets(address: &str) -> BTreeSet<u64> {
    match address.strip_prefix("unix:") {
        Some(path) => unix_inodes(&fs::read_to_string("/proc/net/unix").unwrap_or_default(), path),
        None => address.parse().map(listening_inodes).unwrap_or_default(),
    }
}

/// The TCP addresses with this port on which any process listens, in ascending order.
pub fn addresses_with(port: u16) -> Vec<SocketAddr> {
    let with_port = listening().into_iter().map(|(address, _)| address).filter(|address| address.port() == port);
    with_port.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The TCP addresses that any of these processes listens on, in ascending order.
pub fn addresses_of(pids: &[u32]) -> Vec<SocketAddr> {
    let sockets = pids.iter().flat_map(|pid| sockets_of(*pid).into_iter().flatten()).collect::<BTreeSet<String>>();
    let own = listening().into_iter().filter(|(_, inode)| sockets.contains(&link(*inode)));
    own.map(|(address, _)| address).collect::<BTreeSet<_>>().into_iter().collect()
}

/// `path` as the kernel lists it: as bound, with '@' for the zero byte of an abstract name.
fn find_unix(path: &str) -> Result<Listeners, String> {
    let table = fs::read_to_string("/proc/net/unix").map_err(|error| format!("/proc/net/unix: {error}"))?;
    let (holders, hidden) = holders(&unix_inodes(&table, path));
    if holders.is_empty() {
        return Err(format!(
            "no visible process listens on {path} ({hidden} processes are not accessible); name it with --server-pid"
        ));
    }
    Ok(Listeners { roots: roots(&holders), pids: holders.into_iter().collect() })
}

fn unix_inodes(table: &str, path: &str) -> BTreeSet<u64> {
    // Num RefCount Protocol Flags Type St Inode Path; flag 0x10000 is __SO_ACCEPTCON.
    let inode = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let listens = u32::from_str_radix(fields.nth(3)?, 16).ok()? & 0x10000 != 0;
        let inode = fields.nth(2)?.parse().ok()?;
        (listens && fields.next() == Some(path)).then_some(inode)
    };
    table.lines().filter_map(inode).collect()
}

/// Whether the address belongs to this machine, so that a socket can be bound to it.
pub fn is_local(ip: IpAddr) -> bool {
    // Connections to the wildcard address go to this machine.
    ip.is_unspecified() || UdpSocket::bind(SocketAddr::new(ip, 0)).is_ok()
}

/// How specifically a listening address matches; the kernel prefers the most specific.
pub(crate) fn fit(listening: IpAddr, wanted: IpAddr) -> Option<u8> {
    let mapped = |ip: IpAddr| match ip {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    };
    // Connecting to the wildcard address means loopback.
    let wanted = match mapped(wanted) {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    match (mapped(listening), wanted) {
        (listening, wanted) if listening == wanted => Some(3),
        (IpAddr::V4(any), IpAddr::V4(_)) if any.is_unspecified() => Some(2),
        (IpAddr::V6(any), IpAddr::V6(_)) if any.is_unspecified() => Some(2),
        // A dual-stack socket, which /proc does not tell from an IPv6-only one.
        (IpAddr::V6(any), IpAddr::V4(_)) if any.is_unspecified() => Some(1),
        _ => None,
    }
}

/// Address and inode of every listening TCP socket of this network namespace.
pub(crate) fn listening() -> Vec<(SocketAddr, u64)> {
    sock_diag::listening().unwrap_or_else(|_| listening_by_tables())
}

/// Where netlink is not there: reading a table passes over all connections as well.
fn listening_by_tables() -> Vec<(SocketAddr, u64)> {
    let mut all = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(file) = File::open(table) else { continue };
        // Listening sockets come first; stops before the connections, which may be a million.
        let lines = BufReader::new(file).lines().map_while(Result::ok).skip(1);
        all.extend(lines.map_while(|line| parse_listening(&line)));
    }
    all
}

fn listening_inodes(address: SocketAddr) -> BTreeSet<u64> {
    let mut best = (0, BTreeSet::new());
    for (listening, inode) in listening().into_iter().filter(|(other, _)| other.port() == address.port()) {
        let Some(fit) = fit(listening.ip(), address.ip()) else { continue };
        if fit > best.0 {
            best = (fit, BTreeSet::new());
        }
        if fit == best.0 {
            best.1.insert(inode);
        }
    }
    best.1
}

/// Address and inode of a table line in state LISTEN (0A); `None` for any other line.
fn parse_listening(line: &str) -> Option<(SocketAddr, u64)> {
    let mut fields = line.split_whitespace();
    let local = fields.nth(1)?;
    if fields.nth(1)? != "0A" {
        return None;
    }
    let inode = fields.nth(5)?.parse().ok()?;
    let (ip, port) = local.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // Each group of eight digits is a 32-bit word in the byte order of the machine.
    let word = |i: usize| Some(u32::from_str_radix(ip.get(i * 8..i * 8 + 8)?, 16).ok()?.to_ne_bytes());
    let words = (0..ip.len() / 8).map(word).collect::<Option<Vec<_>>>()?.concat();
    let v4 = <[u8; 4]>::try_from(&words[..]).map(IpAddr::from);
    let ip = v4.or_else(|_| <[u8; 16]>::try_from(&words[..]).map(IpAddr::from)).ok()?;
    Some((SocketAddr::new(ip, port), inode))
}

/// The processes that hold any of these sockets, and the number of inaccessible processes.
fn holders(inodes: &BTreeSet<u64>) -> (BTreeSet<u32>, usize) {
    let wanted: BTreeSet<String> = inodes.iter().map(|inode| link(*inode)).collect();
    let (mut holders, mut hidden) = (BTreeSet::new(), 0);
    for stat in Stat::all() {
        let Some(mut links) = sockets_of(stat.pid) else {
            hidden += usize::from(!stat.ended);
            continue;
        };
        // Descriptors ascend, and listeners are older than connections: a match is found early.
        if links.any(|link| wanted.contains(&link)) {
            holders.insert(stat.pid);
        }
    }
    (holders, hidden)
}

/// What a descriptor of the socket with this inode links to.
fn link(inode: u64) -> String {
    format!("socket:[{inode}]")
}

/// What the descriptors of a process link to; `None` if it is gone or not accessible.
fn sockets_of(pid: u32) -> Option<impl Iterator<Item = String>> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    Some(
        descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok()?.into_os_string().into_string().ok()),
    )
}

/// The holders without a holder above them. Several that share a parent with the same executable, as the workers of a
/// master, are replaced by that parent; a shell that started two servers is not.
fn roots(holders: &BTreeSet<u32>) -> Vec<u32> {
    let parents: BTreeMap<u32, u32> = Stat::all().iter().map(|stat| (stat.pid, stat.parent)).collect();
    let has_holder_above = |pid: u32| {
        let mut at = pid;
        // Bounded, since a table that changes while it is read may contain a circle.
        (0..256).any(|_| match parents.get(&at) {
            Some(parent) if *parent != at => {
                at = *parent;
                holders.contains(&at)
            }
            _ => false,
        })
    };
    let top: Vec<u32> = holders.iter().copied().filter(|pid| !has_holder_above(*pid)).collect();
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    if let [first, _, ..] = top.as_slice() {
        let parent = parents.get(first).copied().filter(|p| top.iter().all(|pid| parents.get(pid) == Some(p)));
        if let Some(parent) = parent.filter(|p| *p != 0 && *p != std::process::id()) {
            let same = program(parent).is_some_and(|exe| top.iter().all(|pid| program(*pid).as_ref() == Some(&exe)));
            if same {
                return vec![parent];
            }
        }
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_lines_are_in_native_byte_order_and_the_most_specific_address_wins() {
        if cfg!(target_endian = "little") {
            let v4 =
                "   0: 0100007F:1BBC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5561 1 0";
            assert_eq!(parse_listening(v4), Some(("127.0.0.1:7100".parse().unwrap(), 5561)));
            let v6 = "   1: 00000000000000000000000001000000:1BBC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1 0";
            assert_eq!(parse_listening(v6), Some(("[::1]:7100".parse().unwrap(), 77)));
        }
        let established =
            "   2: 0100007F:1BBC 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 5562 1 0";
        assert_eq!(parse_listening(established), None);
        for broken in ["", "x", "0: zz:zz 0:0 0A 0 0 0 0 0 1", "0: 01:1 0:0 0A 0 0 0 0 0 1"] {
            assert_eq!(parse_listening(broken), None, "{broken:?}");
        }
        let fit = |listening: &str, wanted: &str| fit(listening.parse().unwrap(), wanted.parse().unwrap());
        assert_eq!(fit("127.0.0.1", "127.0.0.1"), Some(3));
        assert_eq!(fit("::ffff:127.0.0.1", "127.0.0.1"), Some(3));
        assert_eq!(fit("0.0.0.0", "127.0.0.1"), Some(2));
        assert_eq!(fit("::", "127.0.0.1"), Some(1));
        assert_eq!(fit("::", "::1"), Some(2));
        assert_eq!(fit("127.0.0.1", "0.0.0.0"), Some(3));
        assert_eq!(fit("0.0.0.0", "::1"), None);
        assert_eq!(fit("127.0.0.2", "127.0.0.1"), None);
    }
}
