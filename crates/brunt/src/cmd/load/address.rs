//! From the URL as typed to the protocol and a socket address.
//!
//! Syntax is checked before anything is looked up, so that a typing error never waits for a name server.

use super::Trouble;
use std::{
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

/// What may stand before `://`.
const SCHEMES: &str = "tcp://HOST:PORT (a server that sends back what it receives)";

/// Host and port of a `tcp://` URL.
pub(super) fn parse(url: &str) -> Result<(String, u16), Trouble> {
    let wrong = |reason: &str| Trouble::Usage(format!("'{url}' {reason}"));
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(wrong(&format!("names no protocol; write tcp://{url}")));
    };
    if scheme != "tcp" {
        return Err(wrong(&format!("asks for the protocol '{scheme}', which is not known; known are: {SCHEMES}")));
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let form = "is not of the form tcp://HOST:PORT, as tcp://127.0.0.1:7100 or tcp://[::1]:7100";
    let (host, port) = rest.rsplit_once(':').ok_or_else(|| wrong(form))?;
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let plain = !host.is_empty() && !host.contains([':', '[', ']', '/', '@', '?', '#']);
    let host = bracketed.or(plain.then_some(host)).ok_or_else(|| wrong(form))?;
    match port.parse() {
        Ok(port) if port > 0 => Ok((host.to_owned(), port)),
        _ => Err(wrong(&format!("has the port '{port}'; a port is a number from 1 to 65535"))),
    }
}

/// The address of a host. A name with several goes to the first that accepts a connection, as `localhost` is often
/// both ::1 and 127.0.0.1 and a server listens on one of them.
pub(super) fn resolve(host: &str, port: u16, timeout: Duration) -> Result<SocketAddr, Trouble> {
    let found = (host, port).to_socket_addrs();
    let addresses: Vec<SocketAddr> =
        found.map_err(|error| Trouble::Failed(format!("cannot look up the host '{host}': {error}")))?.collect();
    let accepts = |address: &&SocketAddr| TcpStream::connect_timeout(address, timeout).is_ok();
    match addresses.as_slice() {
        [] => Err(Trouble::Failed(format!("the host '{host}' has no address"))),
        [only] => Ok(*only),
        // When none accepts, the load on the first one will say why.
        [first, ..] => Ok(*addresses.iter().find(accepts).unwrap_or(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_read() {
        for (url, host, port) in [
            ("tcp://127.0.0.1:7100", "127.0.0.1", 7100),
            ("tcp://localhost:1/", "localhost", 1),
            ("tcp://[::1]:7100", "::1", 7100),
        ] {
            let parsed = parse(url).unwrap_or_else(|why| panic!("{url}: {why:?}"));
            assert_eq!(parsed, (host.to_owned(), port), "{url}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (url, needle) in [
            ("127.0.0.1:7100", "write tcp://127.0.0.1:7100"),
            ("http://x:1/", "'http'"),
            ("tcp://x", "tcp://HOST:PORT"),
            ("tcp://::1:7100", "tcp://[::1]:7100"),
            ("tcp://:7100", "tcp://HOST:PORT"),
            ("tcp://x:0", "'0'"),
            ("tcp://x:70000", "'70000'"),
            ("tcp://x:7100/path", "'7100/path'"),
            ("tcp://", "tcp://HOST:PORT"),
            ("", "names no protocol"),
        ] {
            match parse(url) {
                Err(Trouble::Usage(why)) => assert!(why.contains(needle) && why.contains(url), "{url}: {why}"),
                other => panic!("{url}: {other:?}"),
            }
        }
    }
}
