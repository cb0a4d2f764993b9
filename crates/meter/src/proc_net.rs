//! Counters of this whole network namespace since boot, from `/proc/net`.

use std::fs;

/// A counter of `/proc/net/snmp`, as `Tcp` `RetransSegs`; `None` if there is no such counter.
pub fn snmp(protocol: &str, name: &str) -> Option<u64> {
    by_name(&fs::read_to_string("/proc/self/net/snmp").ok()?, protocol, name)
}

/// TCP connections accepted.
pub fn accepted() -> Option<u64> {
    snmp("Tcp", "PassiveOpens")
}

/// A counter of `/proc/net/netstat`, as `TcpExt` `ListenDrops`; `None` if there is no such counter.
pub(crate) fn netstat(protocol: &str, name: &str) -> Option<u64> {
    by_name(&fs::read_to_string("/proc/self/net/netstat").ok()?, protocol, name)
}

/// The files alternate rows of names and rows of values, each beginning with the protocol.
fn by_name(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut rows = text.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'));
    let (names, values) = (rows.next()?, rows.next()?);
    let at = names.split_whitespace().position(|other| other == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

/// TCP sockets in use and the memory of all TCP buffers in bytes, from `/proc/net/sockstat`.
pub(crate) fn tcp_in_use() -> Option<(u64, u64)> {
    tcp_of(&fs::read_to_string("/proc/self/net/sockstat").ok()?)
}

fn tcp_of(sockstat: &str) -> Option<(u64, u64)> {
    let row = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let words: Vec<&str> = row.split_whitespace().collect();
    let value = |name: &str| words.chunks_exact(2).find(|pair| pair[0] == name)?[1].parse::<u64>().ok();
    Some((value("inuse")?, value("mem")?.checked_mul(procfs::page_size())?))
}

/// Bytes received and sent by interfaces, link headers included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Through loopback, counted once.
    pub loopback: u64,
    /// Received by all others.
    pub received: u64,
    /// Sent by all others.
    pub sent: u64,
}

impl Traffic {
    pub(crate) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/net/dev").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut all = Self::default();
        for line in text.lines().skip(2) {
            let (name, numbers) = line.split_once(':')?;
            let mut numbers = numbers.split_whitespace().map(str::parse::<u64>);
            let (received, sent) = (numbers.next()?.ok()?, numbers.nth(7)?.ok()?);
            if name.trim() == "lo" {
                all.loopback += received;
            } else {
                all.received += received;
                all.sent += sent;
            }
        }
        Some(all)
    }

    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            loopback: self.loopback.saturating_sub(earlier.loopback),
            received: self.received.saturating_sub(earlier.received),
            sent: self.sent.saturating_sub(earlier.sent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_memory_is_in_bytes_and_interfaces_are_summed() {
        let text = "Ip: A B\nIp: 1 2\nTcp: RtoAlgorithm MaxConn ActiveOpens PassiveOpens\nTcp: 1 -1 7 31\n";
        assert_eq!(by_name(text, "Tcp", "PassiveOpens"), Some(31));
        assert_eq!(by_name(text, "Ip", "B"), Some(2));
        assert_eq!(by_name(text, "Tcp", "MaxConn"), None);
        assert_eq!(by_name("Tcp: A\nTcp: 1\n", "Tcp", "B"), None);
        assert_eq!(by_name("", "Tcp", "A"), None);
        assert_eq!(by_name("TcpExt: A\nTcpExt: 1\n", "Tcp", "A"), None);
        let before = snmp("Tcp", "PassiveOpens").unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let _ours: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(listener.local_addr().unwrap())).collect();
        assert!(snmp("Tcp", "PassiveOpens").unwrap() >= before + 3);
        assert!(netstat("TcpExt", "ListenDrops").is_some() && tcp_in_use().unwrap().0 >= 3);
        let text = "sockets: used 27\nTCP: inuse 4 orphan 0 tw 5 alloc 4 mem 93\nUDP: inuse 0 mem 0\n";
        assert_eq!(tcp_of(text), Some((4, 93 * procfs::page_size())));
        assert_eq!(tcp_of("UDP: inuse 0 mem 0\n"), None);
        let text = "Inter-|   Receive\n face |bytes\n    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n  eth0: 7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\neth1:1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n";
        assert_eq!(Traffic::parse(text), Some(Traffic { loopback: 100, received: 8, sent: 11 }));
        assert!(Traffic::now().unwrap().loopback > 0);
    }
}
