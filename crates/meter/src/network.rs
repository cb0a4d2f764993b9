//! Bytes on the connections to a server's listening ports, as counted by the kernel.
//!
//! The kernel discards the counts of a connection when it closes and keeps no sum per process. Invariant: a sum over only
//! some of the connections is never given. The figures are absent unless all connections open at the start are still open at
//! the end, and none came and went in between.

use crate::{listener, proc_net, sock_diag};
use std::collections::{BTreeSet, HashMap};
use std::{fs, io};

/// Most TCP sockets in use on the machine for connections to be listed under load. The kernel walks all of them, at 1 us each,
/// during which a generator on that core is stalled: 25 ms with both ends of 10,000 connections, which shows in p99.
pub(crate) const MAX_IN_USE: u64 = 2_500;
const MAX_SOCKETS: usize = 100_000;
/// Most descriptors searched for listening sockets.
const MAX_DESCRIPTORS: usize = 65_536;

/// The connections to a set of listening ports.
#[derive(Debug)]
pub(crate) struct Network {
    ports: BTreeSet<u16>,
}

/// Traffic of all connections over an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// TCP payload received in order.
    pub received_bytes: u64,
    /// TCP payload acknowledged by the peers.
    pub sent_bytes: u64,
    pub retransmitted_segments: u64,
}

/// All connections at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    sockets: HashMap<u64, sock_diag::Socket>,
    /// Connections ever accepted in this network namespace.
    accepted: Option<u64>,
}

impl Network {
    /// Finds the ports on which these processes listen. An error if there is none, or if others listen there too.
    pub(crate) fn of(pids: &[u32]) -> Result<Self, String> {
        let listening = listener::listening();
        let held = sockets_of(pids)?;
        let ports: BTreeSet<u16> =
            listening.iter().filter(|(_, inode)| held.contains(inode)).map(|(address, _)| address.port()).collect();
        let other = listening.iter().find(|(a, inode)| ports.contains(&a.port()) && !held.contains(inode));
        match other {
            _ if ports.is_empty() => Err("it listens on no TCP port of this network namespace".to_owned()),
            Some((address, _)) => Err(format!("another process listens on port {} too", address.port())),
            None => Ok(Self { ports }),
        }
    }

    /// Lists every connection under load, unless that would disturb it.
    pub(crate) fn list_under_load(&self) -> Result<Sample, String> {
        match proc_net::tcp_in_use() {
            Some((in_use, _)) if in_use > MAX_IN_USE => Err(format!(
                "{in_use} TCP sockets are in use on this machine: listing more than {MAX_IN_USE} would disturb the load"
            )),
            _ => self.list(),
        }
    }

    pub(crate) fn list(&self) -> Result<Sample, String> {
        let mut sockets = HashMap::new();
        for port in &self.ports {
            sock_diag::of_port(*port, &mut |socket| {
                sockets.insert(socket.cookie, socket);
                sockets.len() <= MAX_SOCKETS
            })?;
            if sockets.len() > MAX_SOCKETS {
                return Err(format!("it has more than {MAX_SOCKETS} connections, too many to list"));
            }
        }
        Ok(Sample { sockets, accepted: proc_net::snmp("Tcp", "PassiveOpens") })
    }
}

impl Sample {
    pub(crate) fn buffer_bytes(&self) -> u64 {
        self.sockets.values().map(|socket| socket.buffer_bytes).sum()
    }

    pub(crate) fn since(&self, earlier: &Self) -> Result<Traffic, String> {
        let gone = earlier.sockets.keys().filter(|cookie| !self.sockets.contains_key(cookie)).count();
        if gone > 0 {
            return Err(format!(
                "{gone} connections to the server closed, and the kernel discards the counts of closed ones"
            ));
        }
        let fresh = self.sockets.keys().filter(|cookie| !earlier.sockets.contains_key(cookie)).count() as u64;
        if self.accepted.zip(earlier.accepted).is_none_or(|(now, before)| now.saturating_sub(before) > fresh) {
            let why = "connections came and went on this machine, perhaps to the server, and the kernel discards the \
                       counts of closed ones";
            return Err(why.to_owned());
        }
        let mut traffic = Traffic::default();
        for (cookie, now) in &self.sockets {
            let before = earlier.sockets.get(cookie);
            let of = |field: fn(&sock_diag::Socket) -> u64| field(now).saturating_sub(before.map_or(0, field));
            traffic.received_bytes += of(|socket| socket.received_bytes);
            traffic.sent_bytes += of(|socket| socket.acked_bytes);
            traffic.retransmitted_segments += of(|socket| socket.retransmits.into());
        }
        Ok(traffic)
    }
}

/// The inodes of the sockets that these processes hold.
pub(crate) fn sockets_of(pids: &[u32]) -> Result<BTreeSet<u64>, String> {
    let mut inodes = BTreeSet::new();
    let mut left = MAX_DESCRIPTORS;
    for pid in pids {
        let descriptors = match fs::read_dir(format!("/proc/{pid}/fd")) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(format!("the descriptors of process {pid} are not accessible: run as its user or as root"));
            }
            // The process has ended.
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

    fn sample(sockets: &[(u64, u64)], accepted: u64) -> Sample {
        let socket = |(cookie, bytes): &(u64, u64)| sock_diag::Socket {
            cookie: *cookie,
            local_port: 7100,
            group: None,
            received_bytes: *bytes,
            acked_bytes: 2 * bytes,
            retransmits: 1,
            buffer_bytes: 10,
        };
        Sample { sockets: sockets.iter().map(|s| (s.0, socket(s))).collect(), accepted: Some(accepted) }
    }

    #[test]
    fn traffic_is_summed_and_absent_without_ports_or_if_a_connection_closed() {
        let first = sample(&[(1, 100), (2, 50)], 7);
        let last = sample(&[(1, 150), (2, 50), (3, 30)], 8);
        let expected = Traffic { received_bytes: 80, sent_bytes: 160, retransmitted_segments: 1 };
        assert_eq!((last.since(&first), last.buffer_bytes()), (Ok(expected), 30));
        assert!(sample(&[(1, 150)], 7).since(&first).unwrap_err().starts_with("1 connections"));
        // One was accepted and has closed again.
        assert!(sample(&[(1, 150), (2, 50)], 8).since(&first).unwrap_err().contains("came and went"));
        let without_count = Sample { accepted: None, ..first.clone() };
        assert!(first.since(&without_count).is_err());
        // Process 2 is a kernel thread; in a container there is none.
        assert!(Network::of(&[2]).unwrap_err().contains("no TCP port"));
        assert!(Network::of(&[]).is_err());
    }
}
