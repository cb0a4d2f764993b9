//! What is asked of the generator: the flags of `brunt load`, resolved and checked.

use crate::{http::Http, local_addrs::LocalAddrs, schedule::Arrival};
use serde::{Deserialize, Serialize};
use std::{fmt, net::SocketAddr, path::PathBuf, time::Duration};

/// Where a connection goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Endpoint {
    Ip(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// The address, unless it is a path.
    pub fn ip(&self) -> Option<SocketAddr> {
        match self {
            Self::Ip(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Ip(address)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// Where the load goes, and in which protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// Echo: messages of one size, each comes back as it was sent.
    Echo {
        endpoint: Endpoint,
        /// Payload bytes of one message, at least 1.
        size: usize,
    },
    /// Requests over HTTP/1. They stay in one process.
    #[serde(skip)]
    Http(Http),
}

impl Target {
    /// Name of the protocol, in results, calibrations and messages.
    pub fn protocol(&self) -> &'static str {
        match self {
            Self::Echo { endpoint: Endpoint::Ip(_), .. } => "tcp",
            Self::Echo { endpoint: Endpoint::Unix(_), .. } => "unix",
            Self::Http(_) => "http",
        }
    }

    /// Size of a request in bytes, where it is fixed.
    pub fn request_bytes(&self) -> Option<u64> {
        match self {
            Self::Echo { size, .. } => Some(*size as u64),
            Self::Http(_) => None,
        }
    }

    /// Variants of each request; `None` if requests are equal.
    pub(crate) fn variants(&self) -> Option<u64> {
        match self {
            Self::Echo { .. } => None,
            Self::Http(http) => http.variants().map(u64::from),
        }
    }

    /// Whether connections are closed and replaced throughout the load.
    pub(crate) fn replaces_connections(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Whether several processes can make the load.
    pub(crate) fn is_distributable(&self) -> bool {
        !matches!(self, Self::Http(_))
    }

    /// Whether replies have a status and a body.
    pub(crate) fn has_responses(&self) -> bool {
        matches!(self, Self::Http(_))
    }

    /// Where connections go, at least one.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.hosts().map(|(endpoint, _)| endpoint).collect()
    }

    /// What a host is called in errors: its address, and its name if it is asked for by one.
    pub(crate) fn called(&self, host: usize, endpoint: &Endpoint) -> String {
        let (Self::Http(http), Endpoint::Ip(address)) = (self, endpoint) else { return endpoint.to_string() };
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
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (Endpoint, u64)> {
        let (echo, http) = match self {
            Self::Echo { endpoint, .. } => (Some((endpoint.clone(), 1)), &[][..]),
            Self::Http(http) => (None, &http.hosts[..]),
        };
        echo.into_iter().chain(http.iter().map(|host| (host.address.into(), host.weight)))
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
