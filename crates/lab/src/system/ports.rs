//! Free ports for targets.
//!
//! They lie below the kernel's range for outgoing connections, which the generator's connections use. Each trial gets a
//! different one, so that a server without SO_REUSEADDR is not blocked by closing connections of the last trial.

use crate::clock;
use std::time::UNIX_EPOCH;
use std::{fs, io, net::TcpListener};

/// The lowest port used: above the services that a machine usually runs.
const LOWEST: u16 = 10_000;
/// Default start of the kernel's range for outgoing connections.
const CEILING: u16 = 32_768;

/// Returns free ports in turn.
#[derive(Debug)]
pub struct Ports {
    next: u16,
    ceiling: u16,
}

impl Default for Ports {
    /// Starts at a random port, so that simultaneous runs rarely collide.
    fn default() -> Self {
        let nanos = clock::system_now().duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
        let start = nanos / 1000 + std::process::id().wrapping_mul(7919);
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let outgoing = range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(CEILING);
        // A machine set up for many connections may use nearly all ports for them; then there is no room below.
        let ceiling = if outgoing > LOWEST + 100 { outgoing.min(CEILING) } else { CEILING };
        Self { next: LOWEST + (start % u32::from(ceiling - LOWEST)) as u16, ceiling }
    }
}

impl Ports {
    /// The next port without a listener on 127.0.0.1.
    pub fn free(&mut self) -> io::Result<u16> {
        for _ in LOWEST..self.ceiling {
            let port = self.next;
            self.next = if port + 1 < self.ceiling { port + 1 } else { LOWEST };
            if is_free(port) {
                return Ok(port);
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, format!("no port from {LOWEST} to {} is free", self.ceiling)))
    }
}

pub fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_low_distinct_and_free() {
        let mut ports = Ports::default();
        let first = ports.free().unwrap();
        let taken = TcpListener::bind(("127.0.0.1", ports.next)).ok();
        let second = ports.free().unwrap();
        assert!(first < 32_768 && second < 32_768 && first != second);
        if let Some(taken) = taken {
            assert_ne!(taken.local_addr().unwrap().port(), second);
        }
    }

    #[test]
    fn ports_wrap_around() {
        let mut ports = Ports { next: 20_000, ceiling: 20_001 };
        let _ = ports.free().unwrap();
        assert_eq!(ports.next, LOWEST);
    }
}
