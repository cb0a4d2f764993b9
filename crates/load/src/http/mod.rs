//! HTTP/1: requests rendered in advance or made by a script, replies understood where they lie and checked.
//!
//! The engine says when a request is due and records what became of it; here is what is said ([`Rendered`], [`source`]),
//! what is expected of the replies ([`Expect`]), and the life of a connection. What HTTP is, `brunt_wire::http1` knows.

mod expect;
mod rendered;
pub mod source;
mod template;
mod variants;

pub use expect::{Expect, Statuses};
pub use rendered::{Pipeline, Rendered};
pub use source::{Batch, Flow, Script, Source};
pub use template::{RequestTarget, Template};
pub use variants::Vary;

use std::{net::SocketAddr, sync::Arc};

/// A load over HTTP/1, except for when.
#[derive(Debug, Clone, PartialEq)]
pub struct Http {
    /// Where requests go: at least one, and each connection belongs to one of them.
    pub hosts: Vec<Host>,
    /// Requests on one connection, at least 1, before it is closed and another takes its place; `None` keeps it as long as
    /// the target does.
    pub reuse: Option<u64>,
    /// What makes a reply a good one.
    pub expect: Expect,
}

/// One of the hosts of a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Where its connections go.
    pub address: SocketAddr,
    /// What is sent there. All hosts' requests share connections in the same way.
    pub requests: Requests,
    /// How many connections it gets, beside the others; at least 1. It gets one at least.
    pub weight: u64,
    /// How connections to it are made secret, if they are.
    pub tls: Option<brunt_tls::Connector>,
}

/// Where the requests come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Requests {
    /// The same bytes again and again.
    Rendered(Arc<Rendered>),
    /// Each one is made when it is due.
    Script(Script),
}

impl Http {
    /// A load on one host.
    pub fn on(address: SocketAddr, requests: Requests, reuse: Option<u64>, expect: Expect) -> Self {
        Self { hosts: vec![Host { address, requests, weight: 1, tls: None }], reuse, expect }
    }

    /// The longest requests and where they go; nothing when they are made as they are due.
    pub fn longest(&self) -> Option<(SocketAddr, &Rendered)> {
        let known = self.hosts.iter().filter_map(|host| match &host.requests {
            Requests::Rendered(rendered) => Some((host.address, &**rendered)),
            Requests::Script(_) => None,
        });
        known.max_by_key(|(_, rendered)| rendered.longest_bytes(false))
    }

    /// How many variants of each request there are; `None` if requests are equal or made by a script.
    pub fn variants(&self) -> Option<u32> {
        self.hosts.iter().find_map(|host| match &host.requests {
            Requests::Rendered(rendered) => rendered.variants(),
            Requests::Script(_) => None,
        })
    }

    /// How requests share a connection, as far as that is known in advance.
    pub(crate) fn pipeline(&self) -> Pipeline {
        match self.hosts.first().map(|host| &host.requests) {
            Some(Requests::Rendered(rendered)) => rendered.pipeline(),
            Some(Requests::Script(_)) | None => Pipeline::NONE,
        }
    }

    /// Requests with times of their own that may be under way on a connection.
    pub(crate) fn depth(&self) -> u32 {
        match self.pipeline() {
            Pipeline::Batches(_) => 1,
            Pipeline::Single(depth) => depth,
        }
    }
}
