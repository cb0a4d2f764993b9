//! Free ports for targets.
//!
//! They lie below the kernel's range for outgoing connections, which the generator's connections use. Each trial gets a
//! different one, so that a server without SO_REUSEADDR is not blocked by closing connections of the last trial.
//!
//! Invariant: of processes that run at the same time in one network namespace, none gets a port of another's, as long as there are
//! blocks left: each claims whole blocks, by a name that the kernel releases when the process ends.

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use std::hash::{BuildHasher as _, RandomState};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};
use std::{fs, io, ops::Range};

/// The lowest port used, if the kernel leaves room above it.
const LOWEST: u16 = 20_000;
/// The lowest one where it does not: above the services that a machine usually runs.
const LOWEST_OF_FEW: u16 = 10_000;
/// Default start of the kernel's range for outgoing connections.
const CEILING: u16 = 32_768;
/// Ports of a block.
const BLOCK: u16 = 100;

/// Blocks after which a process gives its ports again: others need some, too.
const MOST_BLOCKS: usize = 10;

/// The blocks of this process.
static OWN: Mutex<Own> = Mutex::new(Own { blocks: Vec::new(), given: 0 });

struct Own {
    blocks: Vec<Block>,
    /// Ports given so far; those given again are counted again.
    given: usize,
}

/// Ports from `first` on; claimed, for as long as this process lives, if another one had not done so before.
struct Block {
    first: u16,
    claim: Option<UnixDatagram>,
}

/// The next port without a listener on 127.0.0.1. None is given twice by this process before it has given as many blocks as one
/// process may have, or all that there are: not to two runs at the same time either, whose targets may not listen yet.
///
/// # Errors
/// All ports are taken.
pub fn free() -> io::Result<u16> {
    let range = range();
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut taken = 0;
    loop {
        if own.is_used_up() && own.blocks.len() < MOST_BLOCKS {
            let (claimed, is_first) = (claim(&range, &own.blocks), own.blocks.is_empty());
            // A block of another process is the last resort.
            own.blocks.extend(claimed.filter(|block| is_first || block.claim.is_some()));
        }
        if taken >= own.ports() {
            let Some(block) = claim(&range, &own.blocks) else {
                let why = format!("no port from {} to {} is free", range.start, range.end);
                return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
            };
            own.given = own.ports();
            own.blocks.push(block);
        }
        let port = own.next();
        if is_free(port) {
            return Ok(port);
        }
        taken += 1;
    }
}

impl Own {
    fn ports(&self) -> usize {
        self.blocks.len() * usize::from(BLOCK)
    }

    /// Whether each port has been given.
    fn is_used_up(&self) -> bool {
        self.given >= self.ports()
    }

    /// Round and round.
    fn next(&mut self) -> u16 {
        let place = self.given % self.ports();
        self.given += 1;
        self.blocks[place / usize::from(BLOCK)].first + (place % usize::from(BLOCK)) as u16
    }
}

/// A block that no process has claimed; if there is none, one that this process has not.
fn claim(range: &Range<u16>, own: &[Block]) -> Option<Block> {
    let number = usize::from((range.end - range.start) / BLOCK);
    // So that a process rarely begins with the ports of one that has just ended.
    let from = RandomState::new().hash_one(number) as usize % number;
    let firsts = (0..number).map(|step| range.start + ((from + step) % number) as u16 * BLOCK);
    let firsts: Vec<u16> = firsts.filter(|first| own.iter().all(|block| block.first != *first)).collect();
    let claimed = firsts.iter().find_map(|first| Some(Block { first: *first, claim: Some(claim_of(*first)?) }));
    claimed.or_else(|| firsts.first().map(|first| Block { first: *first, claim: None }))
}

fn claim_of(first: u16) -> Option<UnixDatagram> {
    let name = SocketAddr::from_abstract_name(format!("brunt-ports-{first}")).ok()?;
    UnixDatagram::bind_addr(&name).ok()
}

fn range() -> Range<u16> {
    let kernel = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let outgoing = kernel.split_whitespace().next().and_then(|first| first.parse().ok());
    below(outgoing.unwrap_or(CEILING))
}

/// The range for targets below that of outgoing connections.
fn below(outgoing: u16) -> Range<u16> {
    let has_room = |lowest: &u16| outgoing >= lowest + BLOCK;
    let lowest = [LOWEST, LOWEST_OF_FEW].into_iter().find(has_room);
    // A machine set up for many connections may use nearly all ports for them; then there is no room below.
    lowest.map_or(LOWEST..CEILING, |lowest| lowest..outgoing.min(CEILING))
}

/// Whether nothing listens on the port of 127.0.0.1. The socket that finds it out does not listen: a copy of it, in a process just being
/// started, keeps no target from the port.
pub fn is_free(port: u16) -> bool {
    let bound = || {
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
    };
    bound() != Err(Errno::ADDRINUSE)
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
        assert!(ports.iter().all(|port| range().contains(port)), "{ports:?}");
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), 80, "{ports:?}");
    }

    #[test]
    fn no_port_is_given_twice_while_there_are_blocks() {
        let ports: BTreeSet<u16> = (0..3 * BLOCK).map(|_| free().unwrap()).collect();
        assert_eq!(ports.len(), usize::from(3 * BLOCK));
    }

    #[test]
    fn a_claimed_block_is_claimed_by_no_other() {
        let range = range();
        let (mut blocks, mut seen) = (Vec::new(), BTreeSet::new());
        for _ in 0..3 {
            let block = claim(&range, &blocks).unwrap();
            assert!(range.contains(&block.first) && range.contains(&(block.first + BLOCK - 1)), "{}", block.first);
            assert!(block.claim.is_some() && claim_of(block.first).is_none(), "{}", block.first);
            assert!(seen.insert(block.first), "{seen:?}");
            blocks.push(block);
        }
        let first = blocks[0].first;
        drop(blocks);
        // A process just being started may hold a copy for a moment.
        brunt_testkit::until("the claim is gone", || claim_of(first).is_some());
    }

    #[test]
    fn ranges_lie_below_that_of_outgoing_connections() {
        assert_eq!(below(32_768), 20_000..32_768);
        assert_eq!(below(50_000), 20_000..32_768);
        assert_eq!(below(20_099), 10_000..20_099);
        assert_eq!(below(1_024), 20_000..32_768);
    }
}
