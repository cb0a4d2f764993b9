//! Names to addresses, by the system's resolver on the pool for blocking work, and connecting by name.

use super::TcpStream;
use crate::blocking;
use std::{
    fmt, io,
    net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs},
};

/// A host, by name or by address, and a port: from `"example.org:80"`, `"[::1]:80"`, `("example.org", 80)`, or a
/// `SocketAddr`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    text: String,
    /// Not part of the text.
    port: Option<u16>,
}

impl From<&str> for HostPort {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), port: None }
    }
}

impl From<String> for HostPort {
    fn from(text: String) -> Self {
        Self { text, port: None }
    }
}

impl From<(&str, u16)> for HostPort {
    fn from((host, port): (&str, u16)) -> Self {
        Self { text: host.to_owned(), port: Some(port) }
    }
}

impl From<(String, u16)> for HostPort {
    fn from((text, port): (String, u16)) -> Self {
        Self { text, port: Some(port) }
    }
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> Self {
        Self { text: address.to_string(), port: None }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            None => f.write_str(&self.text),
            Some(port) if self.text.parse::<Ipv6Addr>().is_ok() => write!(f, "[{}]:{port}", self.text),
            Some(port) => write!(f, "{}:{port}", self.text),
        }
    }
}

/// What a [`HostPort`] turns out to be.
enum Place {
    Address(SocketAddr),
    Name(String, u16),
}

impl HostPort {
    fn place(&self) -> io::Result<Place> {
        let (host, port) = match self.port {
            Some(port) => (&self.text[..], port),
            None => match self.text.parse() {
                Ok(address) => return Ok(Place::Address(address)),
                Err(_) => split(&self.text)?,
            },
        };
        let unbracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match unbracketed.parse::<IpAddr>() {
            Ok(ip) => Ok(Place::Address(SocketAddr::new(ip, port))),
            Err(_) if host.is_empty() => {
                Err(invalid(&self.text, "there is no host; write HOST:PORT, as in localhost:80"))
            }
            Err(_) => Ok(Place::Name(unbracketed.to_owned(), port)),
        }
    }
}

fn split(text: &str) -> io::Result<(&str, u16)> {
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err(invalid(text, "the port is missing; write HOST:PORT, as in localhost:80"));
    };
    if host.contains(':') && !host.starts_with('[') {
        return Err(invalid(text, "an IPv6 address goes in brackets, as in [::1]:80"));
    }
    match port.parse() {
        Ok(number) if port.bytes().all(|byte| byte.is_ascii_digit()) => Ok((host, number)),
        _ => Err(invalid(text, "the port is not a number from 0 to 65535")),
    }
}

fn invalid(text: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("'{text}': {why}"))
}

/// All addresses of a host, at least one, in the order in which the system would try them (RFC 6724). An address is its
/// own answer, at once; a name is looked up on the pool of [`blocking`](crate::blocking()). A dropped future leaves the
/// lookup to end by itself.
///
/// ```
/// use brunt_runtime::{Runtime, net::resolve};
///
/// let addresses = Runtime::new()?.block_on(resolve("localhost:80"))?;
/// assert!(addresses.iter().all(|address| address.ip().is_loopback() && address.port() == 80));
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// When the text is no host and port, or the system knows no address of that name; the error says which name.
pub async fn resolve(host: impl Into<HostPort>) -> io::Result<Vec<SocketAddr>> {
    let (name, port) = match host.into().place()? {
        Place::Address(address) => return Ok(vec![address]),
        Place::Name(name, port) => (name, port),
    };
    let unresolved = |error: io::Error| io::Error::new(error.kind(), format!("cannot resolve '{name}': {error}"));
    let asked = name.clone();
    let found = blocking(move || (&asked[..], port).to_socket_addrs().map(Vec::from_iter)).await;
    let addresses = found.unwrap_or_else(|error| Err(io::Error::other(error.to_string()))).map_err(unresolved)?;
    if addresses.is_empty() {
        return Err(unresolved(io::Error::new(io::ErrorKind::NotFound, "it has no address")));
    }
    Ok(addresses)
}

impl TcpStream {
    /// Connects to a host by name: to the first of its addresses that accepts, tried one after another. Dropping the
    /// future gives the attempt up, so [`timeout`](crate::time::timeout) around it bounds the whole.
    ///
    /// # Errors
    /// Those of [`resolve`]; else, when no address accepts, that of the last one, with the host and that address named.
    pub async fn connect_host(host: impl Into<HostPort>) -> io::Result<Self> {
        let host = host.into();
        let addresses = resolve(host.clone()).await?;
        let mut failure = None;
        for &address in &addresses {
            match Self::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = Some((address, error)),
            }
        }
        let (address, error) = failure.expect("a host that was resolved has an address");
        let which = if addresses.len() == 1 { "at" } else { "at any address, the last being" };
        Err(io::Error::new(error.kind(), format!("cannot connect to '{host}' {which} {address}: {error}")))
    }
}
