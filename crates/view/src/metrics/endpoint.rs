//! The values of `--metrics` and `--push`: where to listen, and which collector to push to.

use brunt_client::Client;
use brunt_inputs::address::{self, Protocol};
use brunt_serve::ServeError;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::{fmt, io, str::FromStr};

/// `HOST:PORT`, or `:PORT` for every address of this machine. Port 0 is one that is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    host: String,
    port: u16,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "write HOST:PORT, as 127.0.0.1:9100, or :PORT for every address of this machine".to_owned();
        let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_plain = !host.contains([':', '/', '@', '[', ']', ' ']);
        let host = bare.or(is_plain.then_some(host)).ok_or_else(form)?;
        let port = port.parse().map_err(|_| format!("the port '{port}' is no number from 0 to 65535"))?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = (&self.host, self.port);
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl Listen {
    /// What `start` makes of the first address that it can listen on.
    pub(super) fn first<T>(&self, start: impl Fn(SocketAddr) -> Result<T, ServeError>) -> Result<T, ServeError> {
        if self.host.is_empty() {
            // The first takes IPv4 connections too, unless the machine has no IPv6.
            return match start((Ipv6Addr::UNSPECIFIED, self.port).into()) {
                Err(ServeError::Listen(_, error)) if error.kind() != io::ErrorKind::AddrInUse => {
                    start((Ipv4Addr::UNSPECIFIED, self.port).into())
                }
                started => started,
            };
        }
        let addresses = (self.host.as_str(), self.port).to_socket_addrs();
        let addresses = addresses.map_err(|error| ServeError::Failed(error.to_string()))?;
        let mut last = Err(ServeError::Failed("the host has no address".to_owned()));
        for address in addresses {
            last = start(address);
            if last.is_ok() {
                break;
            }
        }
        last
    }
}

/// An OpenTelemetry collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collector {
    host: String,
    port: u16,
    /// For the `Host` field.
    authority: String,
    /// Path and query.
    pub(super) path: String,
    tls: bool,
}

const METRICS: &str = "/v1/metrics";

impl FromStr for Collector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = text.strip_prefix("otlp=").ok_or("write otlp=URL, as otlp=http://127.0.0.1:4318")?;
        let parsed = address::parse(url).map_err(|error| error.to_string())?;
        if parsed.user.is_some() {
            return Err("the URL names a user; collectors are sent no credentials: leave NAME:PASSWORD@ out".to_owned());
        }
        let Protocol::Http { authority, target, tls } = parsed.protocol else {
            return Err("the URL of a collector begins with http:// or https://".to_owned());
        };
        let path = if target == "/" { METRICS.to_owned() } else { target };
        Ok(Self { host: parsed.host, port: parsed.port, authority, path, tls })
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

impl Collector {
    /// A client of the collector; for https:// it reads the certificates of this machine. The error is one line.
    pub(super) fn client(&self) -> Result<Client, String> {
        let (host, authority) = (self.host.clone(), self.authority.clone());
        match self.tls {
            true => Client::secure(host, self.port, authority),
            false => Ok(Client::plain(host, self.port, authority)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_to_listen_on_are_parsed() {
        for (text, host, port) in [
            (":9100", "", 9100),
            ("127.0.0.1:0", "127.0.0.1", 0),
            ("[::1]:1", "::1", 1),
            ("localhost:80", "localhost", 80),
        ] {
            let listen: Listen = text.parse().expect(text);
            assert_eq!((listen.host.as_str(), listen.port, listen.to_string().as_str()), (host, port, text));
        }
        for (text, needle) in [
            ("9100", "HOST:PORT"),
            ("", "HOST:PORT"),
            (":http", "'http'"),
            (":70000", "'70000'"),
            ("::1:9100", "HOST:PORT"),
        ] {
            let why = text.parse::<Listen>().expect_err(text);
            assert!(why.contains(needle), "{text}: {why}");
        }
    }

    #[test]
    fn collectors_get_a_path_if_they_have_none() {
        for (text, shown) in [
            ("otlp=http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("otlp=http://h:4318/", "http://h:4318/v1/metrics"),
            ("otlp=https://h/otlp/v1/metrics?key=1", "https://h/otlp/v1/metrics?key=1"),
        ] {
            assert_eq!(text.parse::<Collector>().expect(text).to_string(), shown);
        }
        for (text, needle) in [
            ("http://h:4318", "otlp=http://"),
            ("influx=http://h", "otlp=http://"),
            ("otlp=4318", "names no protocol"),
            ("otlp=tcp://h:4318", "http:// or https://"),
            ("otlp=http://me:pw@h/", "names a user"),
        ] {
            let why = text.parse::<Collector>().expect_err(text);
            assert!(why.contains(needle) && !why.contains('\n'), "{text}: {why}");
        }
    }
}
