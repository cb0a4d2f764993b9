//! Ports below the range that the kernel gives to clients: none of them is taken by a connection of another test.
//!
//! A test that can take port 0 does so. These are for tests that must know the port before something listens on it.

use std::fs::{File, create_dir_all};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Locks of the blocks. Not in TMPDIR, which differs between programs that run at the same time.
const LOCKS: &str = "/tmp/brunt-testkit-ports";

/// Ports of a process.
const BLOCK: u16 = 200;
/// The first port of all blocks, and the end of the last.
const RANGE: std::ops::Range<u16> = 10_000..32_000;

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
///
/// Nothing is bound to find that out: a process that another test starts at that moment would hold the socket until it runs its
/// program, which makes the port one in use.
#[track_caller]
pub fn free_port() -> u16 {
    let is_free = |host: &str, port: u16| TcpStream::connect((host, port)).is_err();
    ports().find(|port| is_free("127.0.0.1", *port) && is_free("::1", *port)).expect("a free port")
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

    #[test]
    fn ports_of_this_process_are_its_own_and_free() {
        let ports: BTreeSet<u16> = (0..50).map(|_| free_port()).collect();
        assert_eq!(ports.len(), 50);
        assert!(ports.iter().all(|port| (block()..block() + BLOCK).contains(port)));
        let path = Path::new(LOCKS).join(((block() - RANGE.start) / BLOCK).to_string());
        assert!(File::options().write(true).open(path).unwrap().try_lock().is_err(), "the block is locked");
    }
}
