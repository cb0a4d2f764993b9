//! What an agent may load: networks and ports, and how much. Without a word of its owner, this machine alone.
//!
//! Checked is the address that is connected to, not its name.

use brunt_load::Options;
use brunt_results::{Count, Rate, Span};
use brunt_runtime::net::Address;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// The longest load, unless told otherwise: no load is forgotten for longer.
const LONGEST: Span = Span(Duration::from_secs(3600));

/// What an agent may load.
#[derive(Debug, Clone)]
pub(super) struct Allowed {
    pub targets: Vec<Targets>,
    /// Requests a second of this agent.
    pub rate: Option<Rate>,
    /// Connections of this agent.
    pub connections: Option<Count>,
    pub duration: Span,
}

impl Default for Allowed {
    fn default() -> Self {
        let targets = ["127.0.0.0/8", "::1/128"].map(|net| net.parse().expect("a network"));
        Self { targets: targets.to_vec(), rate: None, connections: None, duration: LONGEST }
    }
}

/// Addresses of a network with some of their ports, or the path of a Unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Targets {
    Network { network: IpAddr, bits: u8, ports: Vec<RangeInclusive<u16>> },
    Path(String),
}

impl FromStr for Targets {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "'{text}' is no network: write 10.0.0.0/8, 10.1.2.3:80,8000-8099, [fd00::]/8:443 or unix:/run/echo.sock"
            )
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.starts_with('/') { Ok(Self::Path(path.to_owned())) } else { Err(form()) };
        }
        // An IPv6 address with ports stands in brackets.
        let (address, rest) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
            Some((address, rest)) => (address, rest),
            None => {
                let is_v6 = text.matches(':').count() > 1;
                let end = text.find(|c| c == '/' || c == ':' && !is_v6).unwrap_or(text.len());
                text.split_at(end)
            }
        };
        let network: IpAddr = address.parse().map_err(|_| form())?;
        let (bits, ports) = match rest.split_once(':') {
            Some((bits, ports)) => (bits, Some(ports)),
            None => (rest, None),
        };
        let most = if network.is_ipv4() { 32 } else { 128 };
        let bits = match bits.strip_prefix('/') {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(form)?,
            None if bits.is_empty() => most,
            None => return Err(form()),
        };
        let ports = ports.map_or_else(|| Some(vec![1..=u16::MAX]), read_ports).ok_or_else(form)?;
        Ok(Self::Network { network, bits, ports })
    }
}

fn read_ports(text: &str) -> Option<Vec<RangeInclusive<u16>>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last).then_some(first..=last)
    };
    text.split(',').map(range).collect()
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (network, bits, ports) = match self {
            Self::Path(path) => return write!(f, "unix:{path}"),
            Self::Network { network, bits, ports } => (network, bits, ports),
        };
        match network {
            IpAddr::V4(network) => write!(f, "{network}/{bits}")?,
            IpAddr::V6(network) => write!(f, "[{network}]/{bits}")?,
        }
        if *ports == [1..=u16::MAX] {
            return Ok(());
        }
        let range = |ports: &RangeInclusive<u16>| match (ports.start(), ports.end()) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        };
        write!(f, ":{}", ports.iter().map(range).collect::<Vec<_>>().join(","))
    }
}

impl Targets {
    fn has(&self, address: &Address) -> bool {
        match (self, address) {
            (Self::Network { network, bits, ports }, Address::Tcp(address)) => {
                is_in(address, network, *bits) && ports.iter().any(|range| range.contains(&address.port()))
            }
            (Self::Path(_), Address::Unix(_)) => address.to_string() == self.to_string(),
            _ => false,
        }
    }
}

fn is_in(address: &SocketAddr, network: &IpAddr, bits: u8) -> bool {
    let shared = |a: u128, b: u128, of: u32| bits == 0 || (a ^ b) >> (of - u32::from(bits)) == 0;
    match (address.ip().to_canonical(), network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => shared(a.to_bits().into(), b.to_bits().into(), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => shared(a.to_bits(), b.to_bits(), 128),
        _ => false,
    }
}

impl Allowed {
    /// In words, for lists.
    pub fn words(&self) -> String {
        let targets: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        let limits = [
            self.rate.map(|rate| format!("at most {rate}/s")),
            self.connections.map(|connections| format!("at most {connections} connections")),
            Some(format!("for at most {}", self.duration)),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        format!("{}; {}", targets.join(" "), limits.join(", "))
    }

    /// Refuses a load, of which this agent makes this share.
    ///
    /// # Errors
    /// It is not allowed; one line with what to tell the owner of the agent.
    pub fn check(&self, options: &Options, share: f64) -> Result<(), String> {
        let addresses = options.target.addresses();
        if let Some(address) = addresses.iter().find(|address| !self.targets.iter().any(|allowed| allowed.has(address)))
        {
            return Err(format!(
                "it may not load {address}: its owner allows that with allow = [\"{address}\"] in its --config"
            ));
        }
        let rate = options.highest_rate().map(|rate| rate * share);
        match (self.rate, rate) {
            (Some(most), None) => {
                return Err(format!(
                    "it may send at most {most} requests a second, and a closed loop has no limit: give -R"
                ));
            }
            (Some(most), Some(rate)) if rate > most.0 => {
                return Err(format!("it may send at most {most} requests a second, and its share is {}", Rate(rate)));
            }
            _ => (),
        }
        let connections = (options.connections as f64 * share).round() as u64;
        if let Some(most) = self.connections.filter(|most| connections > most.0) {
            return Err(format!("it may open at most {most} connections, and its share is {connections}"));
        }
        let length = Span(options.warmup + options.duration);
        if length > self.duration {
            return Err(format!("it may load for at most {}, and -d with the warm-up is {length}", self.duration));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(targets: &str, address: &str) -> bool {
        targets.parse::<Targets>().unwrap().has(&Address::Tcp(address.parse().unwrap()))
    }

    #[test]
    fn networks_and_ports_are_those_that_are_written() {
        for (targets, address) in [
            ("127.0.0.0/8", "127.1.2.3:9"),
            ("10.1.2.3", "10.1.2.3:65535"),
            ("10.0.0.0/9:80,8000-8099", "10.127.0.1:8099"),
            ("0.0.0.0/0:80", "9.9.9.9:80"),
            ("::1", "[::1]:80"),
            ("fd00::/8", "[fdff::1]:1"),
            ("[fd00::]/8:443", "[fd00::7]:443"),
            ("127.0.0.0/8", "[::ffff:127.0.0.1]:1"),
        ] {
            assert!(has(targets, address), "{targets} {address}");
        }
        for (targets, address) in [
            ("127.0.0.0/8", "128.0.0.1:9"),
            ("127.0.0.0/8", "[::1]:9"),
            ("10.0.0.0/9", "10.128.0.1:80"),
            ("10.1.2.3:80,8000-8099", "10.1.2.3:8100"),
            ("[fd00::]/8:443", "[fd00::7]:80"),
        ] {
            assert!(!has(targets, address), "{targets} {address}");
        }
        assert!("unix:/run/a".parse::<Targets>().unwrap().has(&Address::Unix("/run/a".into())));
        for text in ["127.0.0.0/8", "[fd00::]/8:443", "10.0.0.0/9:80,8000-8099", "unix:/run/a"] {
            assert_eq!(text.parse::<Targets>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0:0x",
            "localhost",
            "10.0.0.1:90-80",
            "unix:a",
            "10.0.0.0/8:",
            "[::1",
            "1.2.3.4/",
        ] {
            assert!(text.parse::<Targets>().is_err_and(|why| why.contains("10.0.0.0/8")), "{text}");
        }
    }
}
