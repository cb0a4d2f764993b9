//! The value of `--listen` and `--ui`: a port of the loopback interface.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Where the page is served. Port 0 is one that is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loopback(pub(super) SocketAddr);

impl FromStr for Loopback {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        let named = named.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        match named.or_else(|| text.parse().ok()) {
            Some(address) if address.ip().is_loopback() => Ok(Self(address)),
            Some(address) => Err(format!(
                "{} is no loopback address, and the page is for this machine only: write 127.0.0.1:{1}; from elsewhere, \
                 forward the port with ssh -L {1}:127.0.0.1:{1}",
                address.ip(),
                address.port()
            )),
            None => Err("write ADDRESS:PORT, as 127.0.0.1:7170".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_loopback_interface_are_taken() {
        for (text, address) in [
            ("127.0.0.1:7170", "127.0.0.1:7170"),
            ("localhost:1", "127.0.0.1:1"),
            ("[::1]:0", "[::1]:0"),
            ("127.9.9.9:80", "127.9.9.9:80"),
        ] {
            assert_eq!(text.parse::<Loopback>().map(|own| own.0.to_string()), Ok(address.to_owned()), "{text}");
        }
        for (text, words) in [
            ("0.0.0.0:80", "no loopback address"),
            ("[::]:80", "no loopback address"),
            ("192.168.1.1:80", "ssh -L 80:"),
            ("7170", "ADDRESS:PORT"),
            ("example.org:80", "ADDRESS:PORT"),
            ("127.0.0.1:70000", "ADDRESS:PORT"),
            ("localhost:", "ADDRESS:PORT"),
        ] {
            let why = text.parse::<Loopback>().unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
