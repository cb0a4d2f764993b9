//! Name resolution by the system's resolver on threads of its own, and connecting by name.

use super::TcpStream;
use crate::blocking::spawn_lookup;
use crate::named::named;
use crate::time::timeout;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::future::{Future, poll_fn};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::task::Poll;
use std::{fmt, io, time::Duration};

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

/// The host, an IPv6 address without its brackets, and the port: that of the text, or the one given `beside` it.
fn split(text: &str, beside: Option<u16>) -> io::Result<(&str, u16)> {
    let refused = |why: &str| Err(invalid(text, why));
    if let Some((scheme, rest)) = text.split_once("://") {
        let form = if beside.is_some() { "the host" } else { "HOST:PORT" };
        return refused(&format!("write {form} without '{scheme}://', as in {}", rest.trim_end_matches('/')));
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(inner) => match inner.split_once(']') {
            None => return refused("the bracket is not closed; write an IPv6 address as in [::1]:80"),
            Some((host, rest)) if !host.is_empty() && !host.contains(':') => {
                return refused(&format!("brackets are for IPv6 addresses; write {host}{rest}"));
            }
            Some((host, "")) => (host, None),
            Some((host, rest)) => match rest.strip_prefix(':') {
                None => return refused("only a colon and the port follow a bracket, as in [::1]:80"),
                port => (host, port),
            },
        },
        // One colon is that of a port, several are those of an IPv6 address.
        None if beside.is_some() && text.matches(':').count() != 1 => (text, None),
        None => match text.rsplit_once(':') {
            Some((host, _)) if host.contains(':') => {
                return refused("write an IPv6 address in brackets, as in [::1]:80");
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    match (port, beside) {
        (None, None) if text.starts_with('[') => refused("the port is missing; write [HOST]:PORT, as in [::1]:80"),
        (None, None) => refused("the port is missing; write HOST:PORT, as in localhost:80"),
        (Some(_), Some(beside)) => refused(&format!("it has a port, and {beside} is given beside it; leave one out")),
        _ if host.is_empty() => refused("the host is missing; write HOST:PORT, as in localhost:80"),
        (None, Some(port)) => Ok((host, port)),
        (Some(digits), None) => match digits.parse() {
            Ok(number) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok((host, number)),
            _ => refused("the port is not a number from 0 to 65535"),
        },
    }
}

fn invalid(text: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("'{text}': {why}"))
}

/// Resolves a host to its addresses, at least one, in the system's order of preference (RFC 6724). Addresses resolve at
/// once; names on threads of their own
/// ([`set_blocking_threads`](crate::set_blocking_threads)). Dropping the future does not stop the lookup.
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
    let (name, port) = split(&text, port)?;
    if let Ok(ip) = name.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let unresolved = |error| named(format!("cannot resolve '{name}'"), error);
    let host = name.to_owned();
    let found = spawn_lookup(move || look_up(&host, port)).await;
    let addresses = found.unwrap_or_else(|error| Err(io::Error::other(error.to_string()))).map_err(unresolved)?;
    if addresses.is_empty() {
        return Err(unresolved(io::Error::new(io::ErrorKind::NotFound, "it has no addresses")));
    }
    Ok(addresses)
}

/// The system's resolver calls a name unknown also when the process has no descriptor for the files and sockets that it needs.
fn look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    (host, port).to_socket_addrs().map(Vec::from_iter).map_err(|error| match eventfd(0, EventfdFlags::CLOEXEC) {
        Err(Errno::MFILE) => Errno::MFILE.into(),
        _ => error,
    })
}

/// Pause between two attempts of [`TcpStream::connect_host`] (RFC 8305, section 8).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

impl TcpStream {
    /// Connects to a host by name, trying its addresses as RFC 8305 says ("happy eyeballs"): IPv6 and IPv4 in turns, in the order
    /// of preference, the next one as soon as one fails or 250 ms have passed, and the first that accepts wins. Dropping the
    /// future cancels all attempts; [`timeout`](crate::time::timeout) around it bounds the whole.
    ///
    /// # Errors
    /// Those of [`resolve`]; if no address accepts, that of the last to fail, with the host and that address.
    pub async fn connect_host(host: impl Into<HostPort>) -> io::Result<Self> {
        let host = host.into();
        let addresses = in_turns(resolve(host.clone()).await?);
        let many = addresses.len() > 1;
        let (mut waiting, mut attempts) = (addresses.into_iter(), Attempts(Vec::new()));
        let mut failure = None;
        loop {
            let begun =
                waiting.next().map(|address| attempts.0.push((address, Box::pin(Self::connect(address))))).is_some();
            if !begun && attempts.0.is_empty() {
                break;
            }
            let ended = attempts.next();
            let ended = if waiting.len() > 0 { timeout(ATTEMPT_DELAY, ended).await.ok() } else { Some(ended.await) };
            match ended {
                Some((_, Ok(stream))) => return Ok(stream),
                Some((_, Err(error))) => failure = Some(error),
                None => (),
            }
        }
        let error = failure.expect("resolve returns at least one address");
        let which = if many { "at any of its addresses; the last" } else { "at its address" };
        Err(named(format!("cannot connect to '{host}' {which}"), error))
    }
}

/// Addresses of the two families in turns, each family in its order, the family of the first one first.
fn in_turns(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first = addresses.first().map(SocketAddr::is_ipv6);
    let (ours, others): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|address| Some(address.is_ipv6()) == first);
    let (mut ours, mut others) = (ours.into_iter(), others.into_iter());
    let mut turns = Vec::new();
    loop {
        let pair = [ours.next(), others.next()];
        if pair == [None, None] {
            return turns;
        }
        turns.extend(pair.into_iter().flatten());
    }
}

type Attempt = Pin<Box<dyn Future<Output = io::Result<TcpStream>>>>;

/// Connects in flight.
struct Attempts(Vec<(SocketAddr, Attempt)>);

impl Attempts {
    /// The first that ends.
    fn next(&mut self) -> impl Future<Output = (SocketAddr, io::Result<TcpStream>)> {
        poll_fn(|cx| {
            let polled =
                self.0.iter_mut().enumerate().find_map(|(nth, (_, attempt))| match attempt.as_mut().poll(cx) {
                    Poll::Ready(result) => Some((nth, result)),
                    Poll::Pending => None,
                });
            polled.map_or(Poll::Pending, |(nth, result)| Poll::Ready((self.0.remove(nth).0, result)))
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn families_come_in_turns() {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let found = parse(&["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]);
        assert_eq!(in_turns(found), parse(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]));
        assert_eq!(in_turns(parse(&["1.1.1.1:1"])), parse(&["1.1.1.1:1"]));
    }
}
