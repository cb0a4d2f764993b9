//! `--proxy`: the HTTP proxy that all connections go through.

use crate::address::{self, Protocol, Url};
use brunt_results::Error;
use brunt_runtime::net::Address;
use std::time::Duration;
use std::{fmt, str::FromStr};

/// `http://HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    host: String,
    port: u16,
    authority: String,
}

impl FromStr for Proxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "a proxy is http://HOST:PORT, as http://127.0.0.1:3128".to_owned();
        let rest = text.strip_prefix("http://").ok_or_else(form)?;
        if rest.contains('@') {
            return Err("it names a user; give the file of its NAME:PASSWORD with --proxy-auth".to_owned());
        }
        let Url { host, port, protocol, .. } = address::parse(text).map_err(|_| form())?;
        match protocol {
            Protocol::Http { authority, target, .. } if target == "/" && authority.ends_with(&format!(":{port}")) => {
                Ok(Self { host, port, authority })
            }
            _ => Err(form()),
        }
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.authority)
    }
}

impl Proxy {
    pub fn resolve(&self, timeout: Duration) -> Result<Address, Error> {
        address::resolve(&self.host, self.port, timeout).map(Address::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_has_a_host_and_a_port() {
        for text in ["http://127.0.0.1:3128", "http://[::1]:80", "http://proxy.example:8080/"] {
            let proxy: Proxy = text.parse().expect(text);
            assert_eq!(proxy.to_string(), text.trim_end_matches('/'));
        }
        for (text, needle) in [
            ("127.0.0.1:3128", "http://HOST:PORT"),
            ("https://h:3128", "http://HOST:PORT"),
            ("socks5://h:1080", "http://HOST:PORT"),
            ("http://h", "http://HOST:PORT"),
            ("http://h:1/x", "http://HOST:PORT"),
            ("http://me:secret@h:1", "--proxy-auth"),
        ] {
            let why = text.parse::<Proxy>().expect_err(text);
            assert!(why.contains(needle) && !why.contains("secret"), "{text}: {why}");
        }
    }
}
