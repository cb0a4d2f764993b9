//! URLs of probes and metrics, and one HTTP request at a time.

use super::invalid;
use brunt_client::{Call, Client};
use brunt_inputs::address::{self, Protocol};
use brunt_results::Error;
use brunt_wire::http1::EncodeError;
use brunt_wire::http1::client::{Request, SentRequest};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// Most bytes of metrics.
const LONGEST: usize = 16 << 20;
const FIELDS: [(&str, &[u8]); 1] = [("User-Agent", b"brunt")];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    pub address: SocketAddr,
    /// Host and port, and path, of HTTP; `None` of an echo over TCP.
    pub http: Option<(String, String)>,
}

impl Url {
    /// Reads a URL and looks its host up.
    pub fn parse(url: &str) -> io::Result<Self> {
        let parsed = address::parse(url).map_err(|error| match error {
            Error::Usage(why) => invalid(why),
            Error::Failed(why) => io::Error::other(why),
        })?;
        if parsed.user.is_some() {
            return Err(invalid(format!(
                "'{}' has a user; no credentials are sent here: leave them out",
                address::shown(url)
            )));
        }
        let http = match parsed.protocol {
            Protocol::Tcp => None,
            Protocol::Http { tls: false, authority, target } => Some((authority, target)),
            Protocol::Http { tls: true, .. } => {
                return Err(invalid(format!("'{url}': https is not supported here; write http://")));
            }
            Protocol::Other(_) => {
                return Err(invalid(format!("'{url}' is not of the form http://HOST[:PORT]/PATH or tcp://HOST:PORT")));
            }
        };
        let named = (parsed.host.as_str(), parsed.port);
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("'{url}': cannot look up '{}': {error}", parsed.host))
        };
        let address = named.to_socket_addrs().map_err(failed)?.next();
        let address = address.ok_or_else(|| invalid(format!("'{url}': the host has no address")))?;
        Ok(Self { address, http })
    }

    /// Writes a GET that keeps its connection.
    pub fn request(&self, out: &mut Vec<u8>) -> Result<SentRequest, EncodeError> {
        let (host, path) = self.http.as_ref().map_or(("", "/"), |(host, path)| (host, path));
        Request { fields: &FIELDS, ..Request::get(host, path) }.encode(out, None)
    }

    /// The body of the reply to a GET, within this time.
    pub fn get(&self, timeout: Duration) -> io::Result<String> {
        let Some((host, path)) = &self.http else { return Err(invalid("an echo has no pages")) };
        let client = Client::plain(self.address.ip().to_string(), self.address.port(), host.clone());
        let call = Call { method: "GET", target: path, fields: &FIELDS, body: None, most: LONGEST };
        let reply = client.send(&call, timeout).map_err(|failure| io::Error::other(failure.why))?;
        match reply.status {
            200 => Ok(String::from_utf8_lossy(&reply.body).into_owned()),
            status => Err(invalid(format!("the reply is '{status} {}'", reply.reason))),
        }
    }
}
