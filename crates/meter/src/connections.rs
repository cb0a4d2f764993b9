//! All TCP connections of this network namespace with what each has sent, for sums over some of them.
//!
//! Invariant: as the kernel discards the counts of a closed connection, no sum over a window is given in which one of those asked
//! for closed, or in which connections came and went between the two lists.

use crate::{network, proc_net, sock_diag};
use std::collections::HashMap;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    pub local_port: u16,
    /// Control group of version 2 that made it: the inode of its directory.
    pub group: Option<u64>,
    /// Payload acknowledged by the peer.
    pub sent_bytes: u64,
}

/// The connections of one moment.
#[derive(Debug, Clone, Default)]
pub struct Connections {
    by_cookie: HashMap<u64, Connection>,
    /// Connections ever accepted or made in this network namespace.
    opened: u64,
}

impl Connections {
    /// An error on kernels that do not list connections, and on machines with so many that this would disturb its load.
    pub fn list() -> Result<Self, String> {
        if let Some((in_use, _)) = proc_net::tcp_in_use().filter(|(in_use, _)| *in_use > network::MAX_IN_USE) {
            return Err(format!(
                "{in_use} TCP sockets are in use on this machine: listing more than {} would disturb its load",
                network::MAX_IN_USE
            ));
        }
        let opened = |name| proc_net::snmp("Tcp", name).ok_or("/proc/net/snmp does not count connections");
        let opened = opened("PassiveOpens")? + opened("ActiveOpens")?;
        let mut by_cookie = HashMap::new();
        sock_diag::of_port(0, &mut |socket| {
            let sock_diag::Socket { local_port, group, acked_bytes, .. } = socket;
            by_cookie.insert(socket.cookie, Connection { local_port, group, sent_bytes: acked_bytes });
            true
        })?;
        Ok(Self { by_cookie, opened })
    }

    /// Bytes sent since `earlier` on the connections asked for.
    pub fn sent_since(&self, earlier: &Self, of: impl Fn(&Connection) -> bool) -> Result<u64, String> {
        let closed =
            earlier.by_cookie.iter().filter(|(cookie, one)| of(one) && !self.by_cookie.contains_key(cookie)).count();
        if closed > 0 {
            return Err(format!(
                "{closed} of its connections closed, and the kernel discards the counts of closed ones"
            ));
        }
        let fresh = self.by_cookie.keys().filter(|cookie| !earlier.by_cookie.contains_key(cookie)).count() as u64;
        if self.opened.saturating_sub(earlier.opened) > fresh {
            return Err("connections came and went on this machine, and the kernel discards the counts of closed ones"
                .to_owned());
        }
        let sent = |(cookie, now): (&u64, &Connection)| {
            now.sent_bytes.saturating_sub(earlier.by_cookie.get(cookie).map_or(0, |before| before.sent_bytes))
        };
        Ok(self.by_cookie.iter().filter(|(_, one)| of(one)).map(sent).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(all: &[(u64, u16, u64)], opened: u64) -> Connections {
        let one = |(cookie, local_port, sent_bytes): &(u64, u16, u64)| {
            (*cookie, Connection { local_port: *local_port, group: None, sent_bytes: *sent_bytes })
        };
        Connections { by_cookie: all.iter().map(one).collect(), opened }
    }

    #[test]
    fn sums_are_of_the_connections_asked_for_and_absent_when_counts_were_discarded() {
        let first = connections(&[(1, 80, 100), (2, 80, 50), (3, 90, 7)], 10);
        let port = |port: u16| move |one: &Connection| one.local_port == port;
        let last = connections(&[(1, 80, 150), (2, 80, 50), (4, 80, 30)], 11);
        assert_eq!(last.sent_since(&first, port(80)), Ok(80));
        assert!(last.sent_since(&first, port(90)).unwrap_err().starts_with("1 of its connections closed"));
        assert_eq!(last.sent_since(&first, port(99)), Ok(0));
        // Another one was opened and has closed again.
        let last = connections(&[(1, 80, 150), (2, 80, 50), (3, 90, 7), (4, 80, 30)], 12);
        assert!(last.sent_since(&first, port(80)).unwrap_err().contains("came and went"));
    }
}
