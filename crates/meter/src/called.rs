//! The listeners of this machine that are connected to, with the sockets of their clients.
//!
//! Over TCP and over Unix sockets of this network namespace. A connection has two ends here: that of the client, which a descriptor
//! links to by its inode, and the accepted one, which has the address of the listener.

use crate::listener;
use crate::network::MAX_IN_USE;
use crate::proc_net;
use crate::sock_diag::{self, End};
use crate::unix_sockets;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

/// The connections to one listener.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Clients {
    /// Inodes of the client ends on this machine.
    pub inodes: BTreeSet<u64>,
    /// Inodes of the accepted ends: of all clients, those on other machines included.
    pub accepted: BTreeSet<u64>,
    /// Whether it listens on another machine, or in another network namespace.
    pub is_elsewhere: bool,
}

/// The listeners by address, `IP:PORT` or `unix:PATH`.
pub(crate) type Listeners = BTreeMap<String, Clients>;

/// The listeners of all kinds. An error if there are so many sockets that listing them would disturb a load.
pub(crate) fn listeners() -> Result<Listeners, String> {
    if let Some((in_use, _)) = proc_net::tcp_in_use().filter(|(in_use, _)| *in_use > MAX_IN_USE) {
        return Err(format!("{in_use} TCP sockets are in use on this machine, more than can be listed under a load"));
    }
    let mut ends = Vec::new();
    sock_diag::ends(&mut |end| ends.push(end))?;
    let mut all = over_tcp(&ends, &listener::listening().into_iter().map(|(address, _)| address).collect::<Vec<_>>());
    over_unix(&mut all)?;
    Ok(all)
}

/// Those of Unix sockets alone, for a sixth of the CPU time.
pub(crate) fn unix_listeners() -> Result<Listeners, String> {
    let mut all = Listeners::new();
    over_unix(&mut all)?;
    Ok(all)
}

fn over_tcp(ends: &[End], listening: &[SocketAddr]) -> Listeners {
    let is_listening = |address: &SocketAddr| {
        let same_port = listening.iter().filter(|other| other.port() == address.port());
        same_port.into_iter().any(|other| listener::fit(other.ip(), address.ip()).is_some())
    };
    // The other end of a connection for one request may have gone by the time at which it would be listed.
    let mut here: BTreeMap<IpAddr, bool> = BTreeMap::new();
    let mut all = Listeners::new();
    for end in ends {
        if is_listening(&end.local) {
            all.entry(end.local.to_string()).or_default().accepted.insert(end.inode);
            continue;
        }
        let is_here = *here.entry(end.remote.ip()).or_insert_with_key(|ip| listener::is_local(*ip));
        if !is_here || is_listening(&end.remote) {
            let clients = all.entry(end.remote.to_string()).or_default();
            clients.inodes.insert(end.inode);
            clients.is_elsewhere = !is_here;
        }
    }
    all
}

fn over_unix(all: &mut Listeners) -> Result<(), String> {
    let mut sockets = HashMap::new();
    unix_sockets::connected(&mut |socket| _ = sockets.insert(socket.inode, socket))?;
    for accepted in sockets.values() {
        let Some((name, peer)) = accepted.name.as_ref().zip(accepted.peer) else { continue };
        // Both ends of a pair may be named, as those of datagrams are.
        if sockets.get(&peer).is_none_or(|client| client.name.is_none()) {
            let clients = all.entry(format!("unix:{name}")).or_default();
            clients.accepted.insert(accepted.inode);
            clients.inodes.insert(peer);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_clients_are_those_of_the_listeners_of_this_machine() {
        let end = |local: &str, remote: &str, inode| End {
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
            inode,
        };
        let ends = [
            end("127.0.0.1:40000", "127.0.0.1:80", 1),
            end("127.0.0.1:80", "127.0.0.1:40000", 2),
            // A client on another machine, and a listener there of the same port.
            end("10.0.0.1:80", "10.0.0.9:50000", 3),
            end("10.0.0.1:40001", "10.0.0.9:80", 4),
        ];
        let listening = ["0.0.0.0:80".parse().unwrap()];
        let found = over_tcp(&ends, &listening);
        let of = |address: &str| found[address].clone();
        let clients = |inodes: &[u64], accepted: &[u64], is_elsewhere| Clients {
            inodes: inodes.iter().copied().collect(),
            accepted: accepted.iter().copied().collect(),
            is_elsewhere,
        };
        assert_eq!(of("127.0.0.1:80"), clients(&[1], &[2], false));
        assert_eq!(of("10.0.0.1:80"), clients(&[], &[3], false));
        assert_eq!(of("10.0.0.9:80"), clients(&[4], &[], true));
        assert_eq!(found.len(), 3);
    }
}
