//! Parses target URLs and resolves host names.
//!
//! Syntax is checked before any name lookup, so a typing error is reported at once.

mod typed;

use self::typed::Authority;
use crate::credentials::Secret;
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
    /// The value of `Authorization` that the user of the URL stands for.
    pub user: Option<Secret>,
}

/// Protocol of a URL and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// Stream echo over TCP.
    Tcp,
    /// Stream echo on another socket, which has no host and port.
    Other(Address),
    Http {
        /// Host and port for the `Host` header: of ASCII, without the zone of an address.
        authority: String,
        /// Path and query as typed, but for blanks and characters outside ASCII, which are %-encoded; placeholders are as typed.
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

    /// The URL of what is sent; `None` unless it is HTTP.
    pub fn sent(&self) -> Option<String> {
        let Protocol::Http { authority, target, tls } = &self.protocol else { return None };
        Some(format!("{}://{authority}{target}", if *tls { "https" } else { "http" }))
    }
}

/// Reads a URL as users paste it: in any case, with blanks and line ends around it, with a user, with a fragment, or as
/// `localhost:8080`.
///
/// # Errors
/// One line with the URL, without its user, what is wrong with it, and the remedy.
pub fn parse(url: &str) -> Result<Url, Error> {
    let wrong = |reason: String| Error::Usage(format!("'{}' {reason}", hidden(url.trim()).escape_debug()));
    let (scheme, rest) = parts(url).map_err(wrong)?;
    let parsed = match &*scheme {
        "tcp" => tcp(rest),
        "unix" => other(&format!("unix://{rest}"), "unix://PATH, as unix:///run/echo.sock"),
        "http" => http(rest, false),
        "https" => http(rest, true),
        _ => Err(format!("uses the unknown protocol '{}'; known are: {SCHEMES}", scheme.escape_debug())),
    };
    parsed.map_err(wrong)
}

/// The URL for pages and results: as typed, with its scheme, without blanks around it and without its user.
pub fn shown(url: &str) -> String {
    match parts(url) {
        Ok((scheme, rest)) => hidden(&format!("{scheme}://{rest}")).replace(HIDDEN, ""),
        Err(_) => hidden(url.trim()),
    }
}

/// A URL as typed, without its user, and the URL of what is sent; `None` if they are the same but for the slash of an empty path,
/// or if there is an error.
pub fn difference(url: &str) -> Option<(String, String)> {
    let sent = parse(url).ok()?.sent()?;
    let typed = hidden(url.trim());
    (typed != sent && format!("{typed}/") != sent).then_some((typed, sent))
}

/// The scheme in lower case, and what follows `://`.
fn parts(url: &str) -> Result<(String, &str), String> {
    let url = url.trim();
    if let Some((scheme, rest)) = url.split_once("://")
        && !scheme.contains(['/', '?', '#'])
    {
        return Ok((scheme.to_ascii_lowercase(), rest));
    }
    let authority = &url[..authority_end(url)];
    let word = authority.split(':').next().unwrap_or_default().to_ascii_lowercase();
    match () {
        () if authority.contains('@') => Err("has a user and no protocol: write http:// before it".to_owned()),
        () if ["http", "https", "tcp", "unix"].contains(&&*word)
            && (authority.contains(':') || url[authority.len()..].starts_with("//")) =>
        {
            Err(format!("has no :// behind its protocol: write {word}://"))
        }
        // A number or a path is a slip rather than a host.
        () if authority.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err("names no protocol and no host: write http://HOST[:PORT]/PATH".to_owned())
        }
        () => Ok(("http".to_owned(), url)),
    }
}

/// Where the authority ends that a text begins with.
fn authority_end(text: &str) -> usize {
    text.find(['/', '?', '#']).unwrap_or(text.len())
}

const HIDDEN: &str = "[hidden]@";

/// A URL without its user, whatever that contains.
fn hidden(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (&url[..scheme.len() + 3], rest));
    let authority = &rest[..authority_end(rest)];
    let user = authority.rfind('@').or_else(|| rest.rfind('@').filter(|_| is_cut(authority)));
    user.map_or_else(|| url.to_owned(), |at| format!("{scheme}{HIDDEN}{}", &rest[at + 1..]))
}

/// Whether an authority may be a user alone: a password with a slash behind it seems to be a port.
fn is_cut(authority: &str) -> bool {
    let port = authority.rsplit_once(':').filter(|_| !authority.contains(['@', ']']));
    port.is_some_and(|(_, port)| port.bytes().any(|byte| !byte.is_ascii_digit()))
}

fn tcp(rest: &str) -> Result<Url, String> {
    let form = || "is not of the form tcp://HOST:PORT, as tcp://127.0.0.1:7100 or tcp://[::1]:7100".to_owned();
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains('@') {
        return Err(form());
    }
    let Authority { host, port, .. } = Authority::read(rest, form)?;
    Ok(Url { host, port: port.ok_or_else(form)?, protocol: Protocol::Tcp, user: None })
}

fn other(url: &str, form: &str) -> Result<Url, String> {
    let address = url.parse().map_err(|_| format!("is not of the form {form}"))?;
    Ok(Url { host: String::new(), port: 0, protocol: Protocol::Other(address), user: None })
}

fn http(rest: &str, tls: bool) -> Result<Url, String> {
    let (scheme, usual) = if tls { ("https", 443) } else { ("http", 80) };
    let (authority, target) = rest.split_at(authority_end(rest));
    let target = typed::target(target)?;
    let form = || {
        format!("is not of the form {scheme}://HOST[:PORT]/PATH, as {scheme}://127.0.0.1:8080/ or {scheme}://[::1]/a?b")
    };
    if is_cut(authority) && rest.contains('@') {
        return Err("has / or ? or # in its user: write %2F, %3F, %23".to_owned());
    }
    let Authority { host, port, text, user } = Authority::read(authority, form)?;
    let protocol = Protocol::Http { authority: text, target, tls };
    Ok(Url { host, port: port.unwrap_or(usual), protocol, user })
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
mod tests;
