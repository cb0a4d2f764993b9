//! Ports below the range that the kernel gives to clients: none of them is taken by a connection of another test.
//!
//! A test that can take port 0 does so. These are for tests that must know the port before something listens on it.

use std::fs::{File, create_dir_all};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

/// Locks of the blocks. Not in TMPDIR, which differs between programs that run at the same time.
const LOCKS: &str = "/tmp/brunt-testkit-ports";

/// Ports of a process.
const BLOCK: u16 = 400;
/// The first port of all blocks, and the end of the last: below the ports that `brunt run` gives to targets.
const RANGE: std::ops::Range<u16> = 10_000..20_000;

/// The ports of this process: a block whose lock file it holds locked until it ends, so that test programs that run at the
/// same time have different ones.
fn block() -> u16 {
    static BLOCK_OF_PROCESS: OnceLock<(u16, File)> = OnceLock::new();
    let claim = || {
        create_dir_all(LOCKS).unwrap_or_else(|error| panic!("{LOCKS}: {error}"));
        let blocks = (RANGE.end - RANGE.start) / BLOCK;
        let first = std::process::id() as u16 % blocks;
        (0..blocks)
            .map(|step| (first + step) % blocks)
            .find_map(|number| {
                let path = Path::new(LOCKS).join(number.to_string());
                let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
                file.try_lock().ok()?;
                Some((RANGE.start + number * BLOCK, file))
            })
            .expect("a block of ports: more test programs run than there are blocks")
    };
    BLOCK_OF_PROCESS.get_or_init(claim).0
}

/// The ports of this process in turn, none of them twice before all have been used.
fn ports() -> impl Iterator<Item = u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = block();
    std::iter::repeat_with(move || first + NEXT.fetch_add(1, Ordering::Relaxed) % BLOCK).take(BLOCK.into())
}

/// A port on which nothing listens, in IPv4 and IPv6.
#[track_caller]
pub fn free_port() -> u16 {
    let hosts: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    ports().find(|port| hosts.iter().all(|host| is_free((*host, *port).into()))).expect("a free port")
}

/// Whether nothing listens on `address`, also if the host does not have it.
///
/// The socket that finds it out disturbs no other test: it does not listen, so that a listener can take the port while a copy of
/// the socket is held by a process just being started; and it does not connect, so that no listener accepts it.
fn is_free(address: SocketAddr) -> bool {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let bound = || {
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &address)
    };
    bound() != Err(Errno::ADDRINUSE)
}

/// A listener of 127.0.0.1 on such a port.
#[track_caller]
pub fn listener() -> TcpListener {
    ports().find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok()).expect("a free port")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::io::ErrorKind;

    #[test]
    fn ports_of_this_process_are_its_own_and_free() {
        let ports: BTreeSet<u16> = (0..50).map(|_| free_port()).collect();
        assert_eq!(ports.len(), 50);
        assert!(ports.iter().all(|port| (block()..block() + BLOCK).contains(port)));
        let path = Path::new(LOCKS).join(((block() - RANGE.start) / BLOCK).to_string());
        assert!(File::options().write(true).open(path).unwrap().try_lock().is_err(), "the block is locked");
    }

    #[test]
    fn looking_for_a_free_port_leaves_listeners_alone() {
        // A port of the block: another one may become that of a connection of any process in between.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let listener = TcpListener::bind(address).unwrap();
        assert!(!is_free(address), "a listener has it");
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "no connection arrived");
        drop(listener);
        // A bound socket, which a process just being started may hold, does not keep a listener from the port.
        let held = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        set_socket_reuseaddr(&held, true).unwrap();
        bind(&held, &address).unwrap();
        assert!(is_free(address));
        TcpListener::bind(address).unwrap();
    }
}
