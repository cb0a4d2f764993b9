//! Local addresses that connections come from, in turn: one address has 28,232 ports by default to one target, and so
//! many connections. Pure; whether the addresses are this machine's, whoever binds them finds out.

use serde::{Deserialize, Serialize};
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// No machine has more, and a wide network of IPv6 counts as so many.
const MOST: u64 = 1 << 32;

/// At least one address, in the order in which they are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalAddrs {
    /// First address and number of each run of neighbours.
    runs: Vec<(IpAddr, u64)>,
}

impl LocalAddrs {
    /// How many addresses there are.
    pub fn count(&self) -> u64 {
        self.runs.iter().map(|(_, count)| count).sum()
    }

    /// The address of the connection with this number; after the last one comes the first again.
    pub fn nth(&self, number: u64) -> IpAddr {
        let mut left = number % self.count();
        for (first, count) in &self.runs {
            match left.checked_sub(*count) {
                Some(rest) => left = rest,
                None => return neighbour(*first, left),
            }
        }
        unreachable!("the rest is less than the sum of all runs")
    }

    /// An address that cannot connect to one of the same kind as `target`, if there is one.
    pub fn stranger(&self, target: IpAddr) -> Option<IpAddr> {
        self.runs.iter().map(|(first, _)| *first).find(|first| first.is_ipv4() != target.is_ipv4())
    }
}

/// What is no list of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAddrsError(String);

impl fmt::Display for LocalAddrsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is not an address such as 127.0.0.2, a range such as 127.0.0.2-127.0.0.9 or a network such as 127.0.0.0/8",
            self.0
        )
    }
}

impl std::error::Error for LocalAddrsError {}

impl FromStr for LocalAddrs {
    type Err = LocalAddrsError;

    fn from_str(text: &str) -> Result<Self, LocalAddrsError> {
        let run = |part: &str| run(part.trim()).ok_or_else(|| LocalAddrsError(part.trim().to_owned()));
        Ok(Self { runs: text.split(',').map(run).collect::<Result<_, _>>()? })
    }
}

fn run(text: &str) -> Option<(IpAddr, u64)> {
    if let Some((address, length)) = text.split_once('/') {
        return network(address.parse().ok()?, length.parse().ok()?);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (IpAddr, IpAddr) = (first.parse().ok()?, last.parse().ok()?);
    let beyond = match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => u128::from(last.to_bits().checked_sub(first.to_bits())?),
        (IpAddr::V6(first), IpAddr::V6(last)) => last.to_bits().checked_sub(first.to_bits())?,
        _ => return None,
    };
    Some((first, u64::try_from(beyond).unwrap_or(MOST).saturating_add(1).min(MOST)))
}

/// The addresses of a network that a machine can have: of more than two, its own and the one of all are left out.
fn network(address: IpAddr, length: u32) -> Option<(IpAddr, u64)> {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let free = u32::checked_sub(bits, length)?;
    let mask = u128::MAX.checked_shl(free).unwrap_or(0);
    let first = match address {
        IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask as u32)),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask)),
    };
    let all = 1u64.checked_shl(free).unwrap_or(MOST).min(MOST);
    Some(if all > 2 { (neighbour(first, 1), all - 2) } else { (first, all) })
}

fn neighbour(first: IpAddr, distance: u64) -> IpAddr {
    match first {
        IpAddr::V4(first) => IpAddr::V4(Ipv4Addr::from_bits(first.to_bits().wrapping_add(distance as u32))),
        IpAddr::V6(first) => IpAddr::V6(Ipv6Addr::from_bits(first.to_bits().wrapping_add(u128::from(distance)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<String> {
        let sources: LocalAddrs = text.parse().unwrap();
        (0..sources.count().min(9)).map(|number| sources.nth(number).to_string()).collect()
    }

    #[test]
    fn addresses_ranges_and_networks_come_in_their_order() {
        assert_eq!(all("127.0.0.1"), ["127.0.0.1"]);
        assert_eq!(all("10.0.0.255-10.0.1.1, 10.0.0.7"), ["10.0.0.255", "10.0.1.0", "10.0.1.1", "10.0.0.7"]);
        assert_eq!(all("192.0.2.5/30"), ["192.0.2.5", "192.0.2.6"]);
        assert_eq!(all("192.0.2.5/31"), ["192.0.2.4", "192.0.2.5"]);
        assert_eq!(all("192.0.2.5/32"), ["192.0.2.5"]);
        assert_eq!(all("::1-::2,fd00::/126"), ["::1", "::2", "fd00::1", "fd00::2"]);
        let loopback: LocalAddrs = "127.0.0.0/8".parse().unwrap();
        assert_eq!(loopback.count(), (1 << 24) - 2);
        assert_eq!((loopback.nth(0), loopback.nth(loopback.count())), (loopback.nth(0), "127.0.0.1".parse().unwrap()));
        assert_eq!("0.0.0.0/0".parse::<LocalAddrs>().unwrap().count(), MOST - 2);
        assert_eq!("fd00::/8".parse::<LocalAddrs>().unwrap().count(), MOST - 2);
        assert_eq!("::-ffff::".parse::<LocalAddrs>().unwrap().count(), MOST);
    }

    #[test]
    fn what_is_none_is_named() {
        for (text, named) in [
            ("", "''"),
            ("localhost", "'localhost'"),
            ("127.0.0.1,", "''"),
            ("127.0.0.2-127.0.0.1", "'127.0.0.2-127.0.0.1'"),
            ("127.0.0.1-::1", "'127.0.0.1-::1'"),
            ("127.0.0.0/33", "'127.0.0.0/33'"),
            ("127.0.0.1:80", "'127.0.0.1:80'"),
        ] {
            let why = text.parse::<LocalAddrs>().unwrap_err().to_string();
            assert!(why.starts_with(named) && why.contains("127.0.0.0/8"), "{text}: {why}");
        }
    }

    #[test]
    fn the_other_kind_is_found() {
        let sources: LocalAddrs = "127.0.0.1,::1".parse().unwrap();
        assert_eq!(sources.stranger("127.0.0.1".parse().unwrap()), Some("::1".parse().unwrap()));
        assert_eq!("::1".parse::<LocalAddrs>().unwrap().stranger("::1".parse().unwrap()), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-f.:/, -]{0,40}", number: u64) {
            if let Ok(sources) = text.parse::<LocalAddrs>() {
                sources.nth(number);
            }
        }
    }
}
