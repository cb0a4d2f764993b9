//! Parses target URLs and resolves host names.
//!
//! Syntax is checked before any name lookup, so a typing error is reported at once.

use brunt_results::Error;
use brunt_runtime::net::Address;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The forms of URLs, for help and messages.
pub const SCHEMES: &str = "http:// or https://HOST[:PORT]/PATH, a web server (several are allowed); \
                                  tcp://HOST:PORT or unix://PATH, an echo server";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    pub host: String,
    pub port: u16,
    pub protocol: Protocol,
}

/// Protocol of a URL and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// Stream echo over TCP.
    Tcp,
    /// Stream echo on another socket, which has no host and port.
    Other(Address),
    Http {
        /// Host and port as typed, for the `Host` header.
        authority: String,
        /// Path and query.
        target: String,
        tls: bool,
    },
}

impl Url {
    pub fn scheme(&self) -> &'static str {
        match &self.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Other(address) => address.scheme(),
            Protocol::Http { .. } => "http",
        }
    }

    /// The address of the host; see [`resolve`].
    pub fn address(&self, timeout: Duration) -> Result<Address, Error> {
        match &self.protocol {
            Protocol::Other(address) => Ok(address.clone()),
            _ => resolve(&self.host, self.port, timeout).map(Address::Tcp),
        }
    }
}

pub fn parse(url: &str) -> Result<Url, Error> {
    let wrong = |reason: &str| Error::Usage(format!("'{}' {reason}", url.escape_debug()));
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(wrong(&format!("names no protocol; write http://{url} or tcp://{url}", url = url.escape_debug())));
    };
    let parsed = match scheme {
        "tcp" => tcp(rest),
        "unix" => other(url, "unix://PATH, as unix:///run/echo.sock"),
        "http" => http(rest, false),
        "https" => http(rest, true),
        _ => Err(format!("uses the unknown protocol '{}'; known are: {SCHEMES}", scheme.escape_debug())),
    };
    parsed.map_err(|why| wrong(&why))
}

fn tcp(rest: &str) -> Result<Url, String> {
    let form = || "is not of the form tcp://HOST:PORT, as tcp://127.0.0.1:7100 or tcp://[::1]:7100".to_owned();
    let (host, port) = host_and_port("tcp", rest.strip_suffix('/').unwrap_or(rest), form)?;
    Ok(Url { host, port: port.ok_or_else(form)?, protocol: Protocol::Tcp })
}

fn other(url: &str, form: &str) -> Result<Url, String> {
    let address = url.parse().map_err(|_| format!("is not of the form {form}"))?;
    Ok(Url { host: String::new(), port: 0, protocol: Protocol::Other(address) })
}

fn http(rest: &str, tls: bool) -> Result<Url, String> {
    let (scheme, usual) = if tls { ("https", 443) } else { ("http", 80) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    if authority.contains('@') {
        return Err("names a user; give the file of its NAME:PASSWORD with --basic-auth".to_owned());
    }
    if target.contains('#') {
        return Err("has a fragment (#...), which is never sent: leave it out".to_owned());
    }
    if let Some(byte) = target.bytes().find(|byte| !byte.is_ascii_graphic()) {
        return Err(format!("has the byte 0x{byte:02x} in its path or query: write it as %{byte:02X}"));
    }
    let form = || {
        format!("is not of the form {scheme}://HOST[:PORT]/PATH, as {scheme}://127.0.0.1:8080/ or {scheme}://[::1]/a?b")
    };
    let (host, port) = host_and_port(scheme, authority, form)?;
    let port = port.unwrap_or(usual);
    let target = match target {
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    };
    let protocol = Protocol::Http { authority: authority.to_owned(), target, tls };
    Ok(Url { host, port, protocol })
}

/// The host, without the brackets of IPv6, and the port of an authority without a user. The host is a name of ASCII or an address
/// (WHATWG URL standard); it is as typed, as far as that is what it stands for.
fn host_and_port(scheme: &str, authority: &str, form: impl Fn() -> String) -> Result<(String, Option<u16>), String> {
    let wrong_port = || {
        let port = authority.rsplit(':').next().unwrap_or_default();
        format!("has the port '{}'; a port is a number from 1 to 65535", port.escape_debug())
    };
    if authority.contains(['/', '?', '#']) && authority.contains(':') {
        return Err(wrong_port());
    }
    // The parser takes a backslash for a slash, and leaves blanks out.
    if authority.is_empty()
        || authority.contains(|c: char| !c.is_ascii_graphic() || matches!(c, '/' | '\\' | '?' | '#' | '@'))
    {
        return Err(form());
    }
    let (bare, zone) = without_zone(authority);
    let parsed = url::Url::parse(&format!("{scheme}://{bare}")).map_err(|error| match error {
        url::ParseError::InvalidPort => wrong_port(),
        _ => form(),
    })?;
    if parsed.port() == Some(0) || authority.ends_with(':') {
        return Err(wrong_port());
    }
    let typed = authority.split(':').next().unwrap_or_default();
    let host = match parsed.host().ok_or_else(&form)? {
        url::Host::Domain(name) if typed.eq_ignore_ascii_case(name) => typed.to_owned(),
        url::Host::Domain(name) => name.to_owned(),
        url::Host::Ipv4(address) => address.to_string(),
        url::Host::Ipv6(address) => format!("{address}{zone}"),
    };
    Ok((host, parsed.port()))
}

/// An authority without the zone of an IPv6 address (RFC 4007), which is a matter of this machine, and the zone with its `%`.
fn without_zone(authority: &str) -> (String, &str) {
    let place = authority.find(']').and_then(|end| Some((authority[..end].find('%')?, end)));
    match place {
        Some((at, end)) => (format!("{}{}", &authority[..at], &authority[end..]), &authority[at..end]),
        None => (authority.to_owned(), ""),
    }
}

/// Resolves a host. With several addresses, returns the first that accepts a connection: `localhost` is often both
/// ::1 and 127.0.0.1 while a server listens on one of them.
pub fn resolve(host: &str, port: u16, timeout: Duration) -> Result<SocketAddr, Error> {
    let found = (host, port).to_socket_addrs();
    let addresses: Vec<SocketAddr> =
        found.map_err(|error| Error::Failed(format!("cannot look up the host '{host}': {error}")))?.collect();
    let accepts = |address: &&SocketAddr| TcpStream::connect_timeout(address, timeout).is_ok();
    match addresses.as_slice() {
        [] => Err(Error::Failed(format!("the host '{host}' has no address"))),
        [only] => Ok(*only),
        // If none accepts, the load reports the error of the first.
        [first, ..] => Ok(*addresses.iter().find(accepts).unwrap_or(first)),
    }
}

/// Where to connect to instead of the host of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectTo {
    Host(String, u16),
    Address(Address),
}

impl FromStr for ConnectTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("unix:") {
            return text.parse().map(Self::Address);
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self::Address(address.into()));
        }
        let host = text.rsplit_once(':').filter(|(host, _)| !host.is_empty() && !host.contains(':'));
        let parts = host.and_then(|(host, port)| Some(Self::Host(host.to_owned(), port.parse().ok()?)));
        parts.ok_or_else(|| format!("'{text}' is neither HOST:PORT nor unix:PATH"))
    }
}

impl ConnectTo {
    pub fn resolve(&self, timeout: Duration) -> Result<Address, Error> {
        match self {
            Self::Host(host, port) => resolve(host, *port, timeout).map(Address::from),
            Self::Address(address) => Ok(address.clone()),
        }
    }
}

/// Time to look up the host of a URL; zero for an address.
pub fn lookup_time(url: &str) -> Result<Duration, Error> {
    let Url { host, port, .. } = parse(url)?;
    let began = Instant::now();
    let is_name = host.parse::<IpAddr>().is_err();
    // A failure is reported by the load, which looks it up again.
    Ok(if is_name && (host.as_str(), port).to_socket_addrs().is_ok() { began.elapsed() } else { Duration::ZERO })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed() {
        for (url, host, port) in [
            ("tcp://127.0.0.1:7100", "127.0.0.1", 7100),
            ("tcp://localhost:1/", "localhost", 1),
            ("tcp://[::1]:7100", "::1", 7100),
            ("tcp://[fe80::1%eth0]:1", "fe80::1%eth0", 1),
        ] {
            let expected = Url { host: host.to_owned(), port, protocol: Protocol::Tcp };
            assert_eq!(parse(url).expect(url), expected, "{url}");
        }
        for (url, host, port, authority, target) in [
            ("http://127.0.0.1:8080/", "127.0.0.1", 8080, "127.0.0.1:8080", "/"),
            ("http://localhost", "localhost", 80, "localhost", "/"),
            ("http://a.b/c/d?e=f&g", "a.b", 80, "a.b", "/c/d?e=f&g"),
            ("http://a?b", "a", 80, "a", "/?b"),
            ("http://[::1]:8080/x", "::1", 8080, "[::1]:8080", "/x"),
            ("http://[::1]/", "::1", 80, "[::1]", "/"),
            ("http://h/a%20b:c/@", "h", 80, "h", "/a%20b:c/@"),
            ("https://h/", "h", 443, "h", "/"),
            ("http://H:80/a/../b", "H", 80, "H:80", "/a/../b"),
            ("http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", "/"),
            ("https://[::1]:8443?x", "::1", 8443, "[::1]:8443", "/?x"),
        ] {
            let tls = url.starts_with("https");
            let protocol = Protocol::Http { authority: authority.to_owned(), target: target.to_owned(), tls };
            assert_eq!(parse(url).expect(url), Url { host: host.to_owned(), port, protocol }, "{url}");
        }
    }

    #[test]
    fn errors_quote_the_url_and_the_remedy() {
        for (url, needle) in [
            ("127.0.0.1:7100", "write http://127.0.0.1:7100 or tcp://127.0.0.1:7100"),
            ("ftp://x:1/", "'ftp'"),
            ("https://", "https://HOST[:PORT]/PATH"),
            ("tcp://x", "tcp://HOST:PORT"),
            ("tcp://::1:7100", "tcp://[::1]:7100"),
            ("tcp://:7100", "tcp://HOST:PORT"),
            ("tcp://me:pw@h:1", "tcp://HOST:PORT"),
            ("tcp://x:0", "'0'"),
            ("tcp://x:70000", "'70000'"),
            ("tcp://x:7100/path", "'7100/path'"),
            ("tcp://", "tcp://HOST:PORT"),
            ("", "names no protocol"),
            ("http://", "http://HOST[:PORT]/PATH"),
            ("http:///x", "http://HOST[:PORT]/PATH"),
            ("http://x:99999/", "'99999'"),
            ("http://x:/", "port ''"),
            ("http://::1/", "http://HOST[:PORT]/PATH"),
            ("http://me:pw@x/", "--basic-auth"),
            ("http://x/#top", "fragment"),
            ("http://x/a b", "%20"),
            ("http://x y/", "http://HOST[:PORT]/PATH"),
            ("http://x/\u{e9}", "%C3"),
            ("http://b\u{fc}cher.example/", "http://HOST[:PORT]/PATH"),
            ("http://127.0.0.256/", "http://HOST[:PORT]/PATH"),
            ("http://[::1/", "http://HOST[:PORT]/PATH"),
        ] {
            let error = parse(url).expect_err(url);
            let why = error.to_string();
            assert!(matches!(error, Error::Usage(_)) && why.contains(needle) && why.contains(url), "{url}: {why}");
        }
        let why = parse(r"http://x\y/").unwrap_err().to_string();
        assert!(why.contains("http://HOST[:PORT]/PATH"), "{why}");
        let why = parse("http://x/a\r\nb").unwrap_err().to_string();
        assert!(why.contains("%0D") && !why.contains('\n'), "{why}");
    }
}
