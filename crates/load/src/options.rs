//! What is asked of the generator: the flags of `brunt load`, resolved and checked.

use crate::{http::Http, local_addrs::LocalAddrs, schedule::Arrival};
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, time::Duration};

/// Where the load goes, and in which protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// Ping-pong over TCP: messages of one size, each comes back as it was sent.
    Echo {
        /// Resolved address.
        address: SocketAddr,
        /// Payload bytes of one message, at least 1.
        size: usize,
    },
    /// Requests over HTTP/1. They stay in one process.
    #[serde(skip)]
    Http(Http),
}

impl Target {
    /// The addresses that are connected to, at least one.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.hosts().map(|(address, _)| address).collect()
    }

    /// What a host is called in errors: its address, and its name if it is asked for by one.
    pub(crate) fn called(&self, host: usize, address: SocketAddr) -> String {
        let Self::Http(http) = self else { return address.to_string() };
        let name = http.hosts.get(host).and_then(|host| host.tls.as_ref()).map(brunt_tls::Connector::host);
        match name.filter(|name| *name != address.ip().to_string()) {
            Some(name) => format!("{name} ({address})"),
            None => address.to_string(),
        }
    }

    /// Whether any host speaks TLS.
    pub(crate) fn is_secret(&self) -> bool {
        match self {
            Self::Echo { .. } => false,
            Self::Http(http) => http.hosts.iter().any(|host| host.tls.is_some()),
        }
    }

    /// Each host's address and how many connections it gets beside the others.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (SocketAddr, u64)> {
        let (ping, http) = match self {
            Self::Echo { address, .. } => (Some((*address, 1)), &[][..]),
            Self::Http(http) => (None, &http.hosts[..]),
        };
        ping.into_iter().chain(http.iter().map(|host| (host.address, host.weight)))
    }

    /// Requests with times of their own that may be under way on a connection.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Self::Echo { .. } => 1,
            Self::Http(http) => http.depth(),
        }
    }
}

/// One load, complete: two equal `Options` make the same schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The target as typed, for the result.
    pub url: String,
    /// The target, resolved.
    pub target: Target,
    /// Connections over all threads, at least 1.
    pub connections: usize,
    /// One load thread for each entry, pinned to that core; `None` leaves the thread where the scheduler puts it.
    pub threads: Vec<Option<usize>>,
    /// Length of the measured window.
    pub duration: Duration,
    /// Load before the window that is not measured.
    pub warmup: Duration,
    /// Ends the window after this many completed requests, if that comes before `duration`.
    pub requests: Option<u64>,
    /// Requests per second over all connections; `None` is the closed loop.
    pub rate: Option<f64>,
    /// Arrival process of the open loop.
    pub arrival: Arrival,
    /// A request without a complete reply after this long has failed.
    pub timeout: Duration,
    /// Connections opened per second over all threads; `None` opens them as fast as the target accepts.
    pub connect_rate: Option<f64>,
    /// Where connections come from, in turn; `None` leaves it to the kernel.
    pub sources: Option<LocalAddrs>,
    /// Ping-pong: whether replies are compared byte by byte with what was sent.
    pub verify: bool,
    /// Seed of everything random.
    pub seed: u64,
}
