//! Local addresses that connections take in turn. One address has 28,232 ports by default for each target address, which
//! limits its connections. Pure: whether the addresses belong to this machine shows when they are bound.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Upper bound of the count: no machine has more addresses, and a wide IPv6 network counts as this many.
const MAX_COUNT: u64 = 1 << 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAddrs {
    /// First address and length of each range.
    ranges: Vec<(IpAddr, u64)>,
}

impl LocalAddrs {
    pub fn count(&self) -> u64 {
        self.ranges.iter().map(|(_, count)| count).sum()
    }

    /// The address of connection `number`; starts over after the last one.
    pub fn nth(&self, number: u64) -> IpAddr {
        let mut left = number % self.count();
        for (first, count) in &self.ranges {
            match left.checked_sub(*count) {
                Some(rest) => left = rest,
                None => return offset(*first, left),
            }
        }
        unreachable!("the number is below the sum of all ranges")
    }

    /// An address that cannot connect to `target`, since one is IPv4 and the other IPv6.
    pub fn of_other_family(&self, target: IpAddr) -> Option<IpAddr> {
        self.ranges.iter().map(|(first, _)| *first).find(|first| first.is_ipv4() != target.is_ipv4())
    }
}

/// The text is not a list of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not an address such as 127.0.0.2, a range such as 127.0.0.2-127.0.0.9 or a network such as 127.0.0.0/8"
)]
pub struct LocalAddrsError(String);

impl FromStr for LocalAddrs {
    type Err = LocalAddrsError;

    fn from_str(text: &str) -> Result<Self, LocalAddrsError> {
        let range = |part: &str| range(part.trim()).ok_or_else(|| LocalAddrsError(part.trim().to_owned()));
        Ok(Self { ranges: text.split(',').map(range).collect::<Result<_, _>>()? })
    }
}

fn range(text: &str) -> Option<(IpAddr, u64)> {
    if let Some((address, length)) = text.split_once('/') {
        return network(address.parse().ok()?, length.parse().ok()?);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (IpAddr, IpAddr) = (first.parse().ok()?, last.parse().ok()?);
    let distance = bits(last).checked_sub(bits(first)).filter(|_| first.is_ipv4() == last.is_ipv4())?;
    Some((first, u64::try_from(distance).unwrap_or(MAX_COUNT).saturating_add(1).min(MAX_COUNT)))
}

/// The host addresses of a network: with more than two addresses, without the network's own and the broadcast address.
fn network(address: IpAddr, length: u32) -> Option<(IpAddr, u64)> {
    let free = u32::checked_sub(if address.is_ipv4() { 32 } else { 128 }, length)?;
    let first = with_bits(address, bits(address) & u128::MAX.checked_shl(free).unwrap_or(0));
    let count = 1u64.checked_shl(free).unwrap_or(MAX_COUNT).min(MAX_COUNT);
    Some(if count > 2 { (offset(first, 1), count - 2) } else { (first, count) })
}

fn offset(first: IpAddr, distance: u64) -> IpAddr {
    with_bits(first, bits(first).wrapping_add(distance.into()))
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The address of these bits, of the family of `like`.
fn with_bits(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::from_bits(bits as u32).into(),
        IpAddr::V6(_) => Ipv6Addr::from_bits(bits).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> LocalAddrs {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_ranges_and_networks_are_listed_in_order_and_by_family() {
        for (text, expected) in [
            ("127.0.0.1", &["127.0.0.1"][..]),
            ("10.0.0.255-10.0.1.1, 10.0.0.7", &["10.0.0.255", "10.0.1.0", "10.0.1.1", "10.0.0.7"]),
            ("192.0.2.5/30", &["192.0.2.5", "192.0.2.6"]),
            ("192.0.2.5/31", &["192.0.2.4", "192.0.2.5"]),
            ("192.0.2.5/32", &["192.0.2.5"]),
            ("::1-::2,fd00::/126", &["::1", "::2", "fd00::1", "fd00::2"]),
        ] {
            let addrs = parse(text);
            let all: Vec<String> = (0..addrs.count()).map(|number| addrs.nth(number).to_string()).collect();
            assert_eq!(all, expected);
        }
        let loopback = parse("127.0.0.0/8");
        assert_eq!(loopback.count(), (1 << 24) - 2);
        assert_eq!((loopback.nth(0), loopback.nth(loopback.count())), (loopback.nth(0), "127.0.0.1".parse().unwrap()));
        for (text, count) in [("0.0.0.0/0", MAX_COUNT - 2), ("fd00::/8", MAX_COUNT - 2), ("::-ffff::", MAX_COUNT)] {
            assert_eq!(parse(text).count(), count, "{text}");
        }
        let other = |text: &str, target: &str| parse(text).of_other_family(target.parse().unwrap());
        assert_eq!(other("127.0.0.1,::1", "127.0.0.1"), Some("::1".parse().unwrap()));
        assert_eq!(other("::1", "::1"), None);
    }

    #[test]
    fn an_error_names_the_invalid_part() {
        for (text, part) in [
            ("", ""),
            ("localhost", "localhost"),
            ("127.0.0.1,", ""),
            ("127.0.0.2-127.0.0.1", "127.0.0.2-127.0.0.1"),
            ("127.0.0.1-::1", "127.0.0.1-::1"),
            ("127.0.0.0/33", "127.0.0.0/33"),
            ("127.0.0.1:80", "127.0.0.1:80"),
        ] {
            let error = text.parse::<LocalAddrs>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{part}'")) && error.contains("127.0.0.0/8"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-f.:/, -]{0,40}", number: u64) {
            if let Ok(addrs) = text.parse::<LocalAddrs>() {
                addrs.nth(number);
            }
        }
    }
}
