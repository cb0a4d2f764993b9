//! Name resolution by the system's resolver on the blocking pool, and connecting by name.

use super::TcpStream;
use crate::spawn_blocking;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::{fmt, io};

/// A host and a port: from `"example.org:80"`, `"[::1]:80"`, `("example.org", 80)`, or a `SocketAddr`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    text: String,
    /// `None` if the text contains the port.
    port: Option<u16>,
}

macro_rules! from {
    ($($type:ty: $value:pat => $text:expr, $port:expr;)*) => {$(
        impl From<$type> for HostPort {
            fn from($value: $type) -> Self {
                Self { text: $text, port: $port }
            }
        }
    )*};
}

from! {
    &str: text => text.to_owned(), None;
    String: text => text, None;
    SocketAddr: address => address.to_string(), None;
    (&str, u16): (host, port) => host.to_owned(), Some(port);
    (String, u16): (host, port) => host, Some(port);
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

fn split(text: &str) -> io::Result<(&str, u16)> {
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err(invalid(text, "the port is missing; write HOST:PORT, as in localhost:80"));
    };
    if host.contains(':') && !host.starts_with('[') {
        return Err(invalid(text, "write an IPv6 address in brackets, as in [::1]:80"));
    }
    match port.parse() {
        Ok(number) if port.bytes().all(|byte| byte.is_ascii_digit()) => Ok((host, number)),
        _ => Err(invalid(text, "the port is not a number from 0 to 65535")),
    }
}

fn invalid(text: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("'{text}': {why}"))
}

/// Resolves a host to its addresses, at least one, in the system's order of preference (RFC 6724). Addresses resolve at
/// once; names on the pool of [`spawn_blocking`]. Dropping the future does not stop the lookup.
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
/// If the text is not a host and port, or the name does not resolve; the message contains the name.
pub async fn resolve(host: impl Into<HostPort>) -> io::Result<Vec<SocketAddr>> {
    let HostPort { text, port } = host.into();
    if port.is_none()
        && let Ok(address) = text.parse()
    {
        return Ok(vec![address]);
    }
    let (host, port) = port.map_or_else(|| split(&text), |port| Ok((&text[..], port)))?;
    let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned();
    if let Ok(ip) = name.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    if host.is_empty() {
        return Err(invalid(&text, "the host is missing; write HOST:PORT, as in localhost:80"));
    }
    let unresolved = |error: io::Error| io::Error::new(error.kind(), format!("cannot resolve '{name}': {error}"));
    let host = name.clone();
    let found = spawn_blocking(move || (&host[..], port).to_socket_addrs().map(Vec::from_iter)).await;
    let addresses = found.unwrap_or_else(|error| Err(io::Error::other(error.to_string()))).map_err(unresolved)?;
    if addresses.is_empty() {
        return Err(unresolved(io::Error::new(io::ErrorKind::NotFound, "it has no addresses")));
    }
    Ok(addresses)
}

impl TcpStream {
    /// Connects to a host by name, trying its addresses in turn. Dropping the future cancels the attempt;
    /// [`timeout`](crate::time::timeout) around it bounds the whole.
    ///
    /// # Errors
    /// Those of [`resolve`]; if no address accepts, that of the last one, with the host and that address.
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
        let (address, error) = failure.expect("resolve returns at least one address");
        let which = if addresses.len() == 1 { "at" } else { "at any of its addresses, the last being" };
        Err(io::Error::new(error.kind(), format!("cannot connect to '{host}' {which} {address}: {error}")))
    }
}
