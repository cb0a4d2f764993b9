//! What the connections to a server's listening ports have carried, by the kernel's own count.
//!
//! The kernel forgets what a connection has carried when it closes, and keeps no sum for a process. So the figures are
//! given when every connection that was open at the beginning is still open at the end and none came and went between,
//! and are absent otherwise: a sum over some of the connections is never given.

use crate::{listener, proc_net, sock_diag};
use std::{
    collections::{BTreeSet, HashMap},
    fs, io,
};

/// TCP sockets in use here, whosesoever, up to which connections are looked at while a load runs. The kernel goes through
/// them all, at 1 us each, in which a generator on the same core sends nothing: for 10,000 connections and their other ends
/// that was 25 ms, and the worst percent of a run of 3 s was the meter's.
const MOST_IN_USE: u64 = 2_500;
/// Above this many connections they are not listed at all: a look would take longer than it is worth.
const MOST_SOCKETS: usize = 100_000;
/// Descriptors that are looked at, at most, for the sockets that listen.
const MOST_DESCRIPTORS: usize = 65_536;

/// The connections to a set of listening ports.
#[derive(Debug)]
pub(crate) struct Network {
    ports: BTreeSet<u16>,
}

/// What connections have carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// TCP payload taken in order from the peers.
    pub received_bytes: u64,
    /// TCP payload that the peers have acknowledged.
    pub sent_bytes: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
}

/// All connections at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    sockets: HashMap<u64, sock_diag::Socket>,
    /// Connections ever accepted in this network namespace, by anybody.
    accepted: Option<u64>,
}

impl Network {
    /// Finds the ports on which these processes listen.
    ///
    /// # Errors
    /// The reason, when there is none or when they share one with somebody else.
    pub(crate) fn of(pids: &[u32]) -> Result<Self, String> {
        let listening = listener::listening();
        let held = sockets_of(pids)?;
        let ports: BTreeSet<u16> =
            listening.iter().filter(|(_, inode)| held.contains(inode)).map(|(address, _)| address.port()).collect();
        let stranger = listening.iter().find(|(a, inode)| ports.contains(&a.port()) && !held.contains(inode));
        match stranger {
            _ if ports.is_empty() => Err("it listens on no TCP port of this network namespace".to_owned()),
            Some((address, _)) => Err(format!("another process listens on port {} too", address.port())),
            None => Ok(Self { ports }),
        }
    }

    /// Looks at every connection while a load runs, if that does not disturb it.
    ///
    /// # Errors
    /// The reason why they cannot all be seen.
    pub(crate) fn glance(&self) -> Result<Sample, String> {
        match proc_net::tcp_in_use() {
            Some((in_use, _)) if in_use > MOST_IN_USE => Err(format!(
                "{in_use} TCP sockets are in use on this machine: to look at each would disturb the load above {MOST_IN_USE}"
            )),
            _ => self.look(),
        }
    }

    /// Looks at every connection.
    ///
    /// # Errors
    /// The reason why they cannot all be seen.
    pub(crate) fn look(&self) -> Result<Sample, String> {
        let mut sockets = HashMap::new();
        for port in &self.ports {
            sock_diag::of_port(*port, &mut |socket| {
                sockets.insert(socket.cookie, socket);
                sockets.len() <= MOST_SOCKETS
            })?;
            if sockets.len() > MOST_SOCKETS {
                return Err(format!("it has more than {MOST_SOCKETS} connections, too many to look at each"));
            }
        }
        Ok(Sample { sockets, accepted: proc_net::snmp("Tcp", "PassiveOpens") })
    }
}

impl Sample {
    /// Memory of the buffers of all connections.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        self.sockets.values().map(|socket| socket.buffer_bytes).sum()
    }

    /// What was carried from `earlier` to this look.
    ///
    /// # Errors
    /// The reason why some of it is not known.
    pub(crate) fn since(&self, earlier: &Self) -> Result<Carried, String> {
        let gone = earlier.sockets.keys().filter(|cookie| !self.sockets.contains_key(cookie)).count();
        if gone > 0 {
            return Err(format!(
                "{gone} connections to the server closed, and the kernel forgets what a closed one has carried"
            ));
        }
        let fresh = self.sockets.keys().filter(|cookie| !earlier.sockets.contains_key(cookie)).count() as u64;
        if self.accepted.zip(earlier.accepted).is_none_or(|(now, before)| now.saturating_sub(before) > fresh) {
            return Err(
                "connections came and went on this machine, perhaps to the server, and the kernel forgets what \
                        a closed one has carried"
                    .to_owned(),
            );
        }
        let mut carried = Carried::default();
        for (cookie, now) in &self.sockets {
            let before = earlier.sockets.get(cookie);
            let of = |field: fn(&sock_diag::Socket) -> u64| field(now).saturating_sub(before.map_or(0, field));
            carried.received_bytes += of(|socket| socket.received_bytes);
            carried.sent_bytes += of(|socket| socket.acked_bytes);
            carried.retransmitted_segments += of(|socket| socket.retransmits.into());
        }
        Ok(carried)
    }
}

/// The inodes of the sockets that these processes hold.
fn sockets_of(pids: &[u32]) -> Result<BTreeSet<u64>, String> {
    let mut inodes = BTreeSet::new();
    let mut left = MOST_DESCRIPTORS;
    for pid in pids {
        let descriptors = match fs::read_dir(format!("/proc/{pid}/fd")) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(format!(
                    "the descriptors of process {pid} may not be looked at: run as its user or as root"
                ));
            }
            // It has ended.
            Err(_) => continue,
            Ok(descriptors) => descriptors,
        };
        for descriptor in descriptors.flatten().take(left) {
            left -= 1;
            let link = fs::read_link(descriptor.path()).unwrap_or_default();
            let inode: Option<u64> =
                link.to_str().and_then(|link| link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
            inodes.extend(inode);
        }
    }
    Ok(inodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(sockets: &[(u64, u64)], accepted: u64) -> Sample {
        let socket = |(cookie, bytes): &(u64, u64)| sock_diag::Socket {
            cookie: *cookie,
            received_bytes: *bytes,
            acked_bytes: 2 * bytes,
            retransmits: 1,
            buffer_bytes: 10,
        };
        Sample { sockets: sockets.iter().map(|s| (s.0, socket(s))).collect(), accepted: Some(accepted) }
    }

    #[test]
    fn every_connection_counts_from_what_it_had_carried_and_a_closed_one_spoils_the_sum() {
        let first = look(&[(1, 100), (2, 50)], 7);
        let last = look(&[(1, 150), (2, 50), (3, 30)], 8);
        let expected = Carried { received_bytes: 80, sent_bytes: 160, retransmitted_segments: 1 };
        assert_eq!((last.since(&first), last.buffer_bytes()), (Ok(expected), 30));
        assert!(look(&[(1, 150)], 7).since(&first).unwrap_err().starts_with("1 connections"));
        // One was accepted and is nowhere to be seen.
        assert!(look(&[(1, 150), (2, 50)], 8).since(&first).unwrap_err().contains("came and went"));
        let blind = Sample { accepted: None, ..first.clone() };
        assert!(first.since(&blind).is_err());
    }

    #[test]
    fn a_process_without_a_listening_socket_has_no_ports() {
        // Process 2 is a kernel thread, or nobody in a container.
        assert!(Network::of(&[2]).unwrap_err().contains("no TCP port"));
        assert!(Network::of(&[]).is_err());
    }
}
