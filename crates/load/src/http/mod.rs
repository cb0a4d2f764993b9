//! HTTP/1 requests, rendered in advance ([`Rendered`]), with placeholders ([`Filled`]) or made by a script ([`source`]), and checks of replies ([`Expect`]).

pub(crate) mod batch;
mod expect;
mod fields;
mod filled;
pub(crate) mod redirect;
mod rendered;
pub mod source;
mod tunnel;
mod variants;

pub use expect::{Expect, Statuses};
pub use filled::{Filled, Filler};
pub use rendered::{Pipeline, Rendered, Sequence};
pub use source::{Batch, Flow, Script, Source};
pub use tunnel::Tunnel;
pub use variants::Vary;

use brunt_runtime::net::Address;
use std::sync::Arc;

/// Hosts, requests and checks of a load over HTTP/1.
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    /// At least one; each connection belongs to one of them.
    pub hosts: Vec<Host>,
    /// Requests on a connection, at least 1, before it is replaced; `None` keeps it as long as the target does.
    pub reuse: Option<u64>,
    pub expect: Expect,
    /// Names of parts of the requests, each with figures of its own; empty if there are only those of the whole.
    pub names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Of the host, or of the proxy with a tunnel.
    pub address: Address,
    pub tunnel: Option<Tunnel>,
    /// All hosts have the same [`Pipeline`].
    pub requests: Requests,
    /// Its weight in sharing out connections; at least 1. Every host gets at least one.
    pub weight: u64,
    pub tls: Option<brunt_tls::Connector>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Requests {
    Rendered(Arc<Rendered>),
    /// With placeholders.
    Filled(Arc<Filled>),
    Script(Script),
}

/// Parts common to all requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Any token but CONNECT.
    pub method: String,
    /// Headers other than `Host`, `Connection` and those that frame the body, in order.
    pub fields: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub http10: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTarget {
    /// `Host` header: `host[:port]`.
    pub host: String,
    /// Path and query, %-encoded.
    pub target: String,
    /// Relative frequency; at least 1.
    pub weight: u32,
    /// Number in [`Http::names`].
    pub name: u16,
    /// `Authorization` of its URL, which the template has not.
    pub authorization: Option<String>,
}

impl Http {
    pub fn on(address: impl Into<Address>, requests: Requests, reuse: Option<u64>, expect: Expect) -> Self {
        let address = address.into();
        Self {
            hosts: vec![Host { address, tunnel: None, requests, weight: 1, tls: None }],
            reuse,
            expect,
            names: Vec::new(),
        }
    }

    /// The names of parts of the requests; those of a script as far as it has given them.
    pub(crate) fn given_names(&self) -> Vec<String> {
        match self.hosts.first().map(|host| &host.requests) {
            Some(Requests::Script(script)) if self.names.is_empty() => script.names(),
            _ => self.names.clone(),
        }
    }

    /// Whether connections to a host are encrypted.
    pub fn uses_tls(&self) -> bool {
        self.hosts.iter().any(|host| host.tls.is_some())
    }

    /// Whether a script makes the requests.
    pub(crate) fn is_scripted(&self) -> bool {
        self.script().is_some()
    }

    /// The script that makes the requests.
    pub(crate) fn script(&self) -> Option<&Script> {
        self.hosts.iter().find_map(|host| match &host.requests {
            Requests::Script(script) => Some(script),
            Requests::Rendered(_) | Requests::Filled(_) => None,
        })
    }

    fn rendered(&self) -> impl Iterator<Item = (&Address, &Rendered)> {
        self.hosts.iter().filter_map(|host| match &host.requests {
            Requests::Rendered(rendered) => Some((&host.address, &**rendered)),
            Requests::Filled(_) | Requests::Script(_) => None,
        })
    }

    /// The longest requests and their host; `None` unless all requests are rendered in advance.
    pub fn longest(&self) -> Option<(&Address, &Rendered)> {
        self.rendered().max_by_key(|(_, rendered)| rendered.longest_bytes(false))
    }

    /// Variants of each request; `None` if requests are equal or made by a script.
    pub fn variants(&self) -> Option<u32> {
        self.rendered().find_map(|(_, rendered)| rendered.vary).map(|vary| vary.variants)
    }

    /// How requests share a connection, unless a script decides.
    pub(crate) fn pipeline(&self) -> Pipeline {
        match self.hosts.first().map(|host| &host.requests) {
            Some(Requests::Rendered(all)) => all.pipeline,
            Some(Requests::Filled(all)) => all.pipeline,
            Some(Requests::Script(_)) | None => Pipeline::NONE,
        }
    }

    /// Requests with times of their own that may be in flight on a connection.
    pub(crate) fn depth(&self) -> u32 {
        match self.pipeline() {
            Pipeline::Batches(_) => 1,
            Pipeline::Single(depth) => depth,
        }
    }
}
