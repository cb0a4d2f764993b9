//! Free ports for targets.
//!
//! They lie below the kernel's range for outgoing connections, which the generator's connections use. Each trial gets a
//! different one, so that a server without SO_REUSEADDR is not blocked by closing connections of the last trial.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, net::TcpListener, ops::Range};

/// The lowest port used: above the services that a machine usually runs.
const LOWEST: u16 = 10_000;
/// Default start of the kernel's range for outgoing connections.
const CEILING: u16 = 32_768;

/// The next port without a listener on 127.0.0.1. None is given twice by this process before all have been: not to two runs at the
/// same time either. The first one is random, so that simultaneous processes rarely collide.
pub fn free() -> io::Result<u16> {
    static NEXT: OnceLock<AtomicU32> = OnceLock::new();
    let range = range();
    let next = NEXT.get_or_init(|| AtomicU32::new(RandomState::new().hash_one(LOWEST) as u32));
    let mut candidates = range.clone().map(|_| nth(&range, next.fetch_add(1, Ordering::Relaxed)));
    let found = candidates.find(|port| is_free(*port));
    found.ok_or_else(|| {
        let why = format!("no port from {} to {} is free", range.start, range.end);
        io::Error::new(io::ErrorKind::AddrInUse, why)
    })
}

fn range() -> Range<u16> {
    let kernel = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let outgoing = kernel.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(CEILING);
    // A machine set up for many connections may use nearly all ports for them; then there is no room below.
    LOWEST..if outgoing > LOWEST + 100 { outgoing.min(CEILING) } else { CEILING }
}

/// Round and round.
fn nth(range: &Range<u16>, number: u32) -> u16 {
    range.start + (number % u32::from(range.end - range.start)) as u16
}

pub fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::thread;

    #[test]
    fn ports_are_low_free_and_given_to_one_of_several_threads() {
        let some = || (0..20).map(|_| free().unwrap()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(some)).collect();
        let ports: Vec<u16> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert!(ports.iter().all(|port| (LOWEST..CEILING).contains(port)), "{ports:?}");
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 80, "{ports:?}");
    }

    #[test]
    fn ports_wrap_around() {
        let range = 10_000..10_003;
        assert_eq!([0, 2, 3, u32::MAX].map(|number| nth(&range, number)), [10_000, 10_002, 10_000, 10_000]);
    }
}
