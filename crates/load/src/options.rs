//! Options of a run: the flags of `brunt load`, resolved.

use crate::measure::counter::Counting;
use crate::schedule::{Profile, Schedule, Share, Stage, Step, half_up};
use crate::{http::Http, http::Tunnel, local_addrs::LocalAddrs};
use brunt_results::Percentile;
use brunt_runtime::{BackendKind, net::Address};
pub use brunt_spec::Backend;
use brunt_spec::{Arrival, Direct};
use brunt_wire::http1::Limits;
use std::ops::Range;
use std::{sync::Arc, time::Duration};

/// Redirects in a row that are followed unless told otherwise; browsers follow twice as many.
const MAX_REDIRECTS: u64 = 10;

pub(crate) fn kind_of(backend: Backend) -> BackendKind {
    match backend {
        Backend::Uring => BackendKind::Uring,
        Backend::Epoll => BackendKind::Epoll,
    }
}

pub(crate) fn backend_of(kind: BackendKind) -> Backend {
    match kind {
        BackendKind::Uring => Backend::Uring,
        BackendKind::Epoll => Backend::Epoll,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// Messages of `size` bytes, at least 1, which come back as they were sent. With `reuse`, at least 1, a connection is
    /// closed and replaced after as many.
    Echo { address: Address, size: usize, reuse: Option<u64> },
    /// HTTP/1 requests.
    Http(Http),
}

impl Target {
    /// Name of the protocol in results, calibrations and messages.
    pub fn protocol(&self) -> &'static str {
        match self {
            Self::Echo { address, .. } => address.scheme(),
            Self::Http(_) => "http",
        }
    }

    /// Size of a request in bytes, if it is fixed.
    pub fn request_bytes(&self) -> Option<u64> {
        match self {
            Self::Echo { size, .. } => Some(*size as u64),
            Self::Http(_) => None,
        }
    }

    /// Whether connections are closed and replaced throughout the load.
    pub(crate) fn replaces_connections(&self) -> bool {
        match self {
            Self::Echo { reuse, .. } => reuse.is_some(),
            Self::Http(_) => true,
        }
    }

    /// Whether several processes can make the load: a script is not in its description.
    pub(crate) fn is_distributable(&self) -> bool {
        !self.http().is_some_and(Http::is_scripted)
    }

    /// Names of parts of the load, by their number.
    pub fn names(&self) -> &[String] {
        self.http().map_or(&[], |http| &http.names)
    }

    pub(crate) fn http_mut(&mut self) -> Option<&mut Http> {
        match self {
            Self::Echo { .. } => None,
            Self::Http(http) => Some(http),
        }
    }

    pub fn http(&self) -> Option<&Http> {
        match self {
            Self::Echo { .. } => None,
            Self::Http(http) => Some(http),
        }
    }

    /// The tunnel through a proxy that leads to a host, if there is one.
    pub(crate) fn tunnel(&self, host: usize) -> Option<&Tunnel> {
        self.http()?.hosts.get(host)?.tunnel.as_ref()
    }

    /// Whether the addresses are those of a proxy.
    pub fn is_proxied(&self) -> bool {
        self.tunnel(0).is_some()
    }

    /// The hosts' addresses, at least one.
    pub fn addresses(&self) -> Vec<Address> {
        self.hosts().map(|(address, _)| address).collect()
    }

    /// Name of a host in errors: its address, with the host name of TLS if there is one.
    pub(crate) fn called(&self, host: usize, address: &Address) -> String {
        let Self::Http(http) = self else { return address.to_string() };
        let name = http.hosts.get(host).and_then(|host| host.tls.as_ref()).map(brunt_tls::Connector::host);
        match name.filter(|name| address.tcp().is_none_or(|address| *name != address.ip().to_string())) {
            Some(name) => format!("{name} ({address})"),
            None => address.to_string(),
        }
    }

    /// Each host's address and its weight in sharing out connections.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (Address, u64)> {
        let (echo, http) = match self {
            Self::Echo { address, .. } => (Some((address.clone(), 1)), &[][..]),
            Self::Http(http) => (None, &http.hosts[..]),
        };
        echo.into_iter().chain(http.iter().map(|host| (host.address.clone(), host.weight)))
    }
}

/// All options of a run. Equal options make equal schedules.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The target as typed, for the result.
    pub url: String,
    pub target: Target,
    /// Connections over all threads, at least 1; the most if their number changes.
    pub connections: usize,
    /// How the number of connections of a closed loop changes in the window, in whole connections of at least 1; empty if it
    /// does not. Their lengths add up to `duration`.
    pub connection_stages: Vec<Stage>,
    /// One load thread for each entry, pinned to that core unless it is `None`.
    pub threads: Vec<Option<usize>>,
    /// `None`: io_uring if available, else epoll.
    pub backend: Option<Backend>,
    /// Threads of a group; see [`Share`]. `None`: all of them are one.
    pub group: Option<usize>,
    /// Length of the measured window.
    pub duration: Duration,
    /// Unmeasured load before the window.
    pub warmup: Duration,
    /// The warm-up ends as soon as its figures have no drift, at the latest after `warmup`.
    pub steady: bool,
    /// Requests that are sent in the window, which ends when all are answered or failed, or after `duration`. With a rate it
    /// does not end before the next one would be due.
    pub requests: Option<u64>,
    /// Requests per second over all connections, the mean over the window; `None` makes a closed loop.
    pub rate: Option<f64>,
    /// How the rate changes in the window; empty if it does not. Their lengths add up to `duration`.
    pub stages: Vec<Stage>,
    /// When each request of the load is due, in nanoseconds since it began, in order, instead of times that follow from the
    /// rate. Needs `rate`, arrivals at constant gaps, and requests of [`crate::http::Sequence::replay`].
    pub replay: Option<Arc<[u64]>>,
    pub arrival: Arrival,
    /// Time within which a request must have a complete reply.
    pub timeout: Duration,
    /// Connections opened per second over all threads; `None` opens them as fast as the target accepts.
    pub connect_rate: Option<f64>,
    /// Local addresses of connections, in turn; `None` leaves them to the kernel.
    pub sources: Option<LocalAddrs>,
    pub seed: u64,
    /// Counts in short intervals for [`crate::Observer::counts`]; a session makes none.
    pub counts: Option<Counting>,
    /// Percentiles in the result beside those of every one.
    pub percentiles: Vec<Percentile>,
    /// As described by the user.
    pub direct: Direct,
}

impl Options {
    /// Limits of HTTP replies.
    pub(crate) fn limits(&self) -> Limits {
        let Direct { strict_http, max_header, max_fields, .. } = self.direct;
        let default = Limits::CLIENT;
        Limits {
            lenient: !strict_http,
            head: max_header.map_or(default.head, |size| size.0 as usize),
            fields: max_fields.map_or(default.fields, |count| count.0 as usize),
            ..default
        }
    }

    /// Most redirects in a row that are followed, if they are.
    pub(crate) fn redirects(&self) -> Option<u64> {
        let Direct { location, max_redirs, .. } = self.direct;
        location.then(|| max_redirs.map_or(MAX_REDIRECTS, |count| count.0))
    }

    /// A closed loop of one second over one connection, on one thread that is not pinned.
    pub fn new(url: String, target: Target) -> Self {
        Self {
            url,
            target,
            connections: 1,
            connection_stages: Vec::new(),
            threads: vec![None],
            backend: None,
            group: None,
            duration: Duration::from_secs(1),
            warmup: Duration::ZERO,
            steady: false,
            requests: None,
            rate: None,
            stages: Vec::new(),
            replay: None,
            arrival: Arrival::Constant,
            timeout: Duration::from_secs(10),
            connect_rate: None,
            sources: None,
            seed: 1,
            counts: None,
            percentiles: Vec::new(),
            direct: Direct::default(),
        }
    }

    /// Names of parts of the load, by their number.
    pub(crate) fn names(&self) -> &[String] {
        self.target.names()
    }

    /// Connections of these load threads.
    pub fn connections_of(&self, threads: Range<usize>) -> usize {
        threads.map(|thread| self.share(thread).own()).sum()
    }

    /// How many of [`Self::requests`] are those of these load threads, if they cannot draw of the same number as the others: a fixed
    /// share by their connections, or with a rate what their schedules have. All threads together have all requests.
    pub fn requests_of(&self, threads: Range<usize>) -> Option<u64> {
        let requests = self.requests?;
        let of = |thread: usize| {
            let share = self.share(thread);
            let schedule = self.schedule(self.rate, self.seed, share);
            schedule.and_then(|schedule| schedule.part_of_end()).unwrap_or_else(|| share.part_of(requests))
        };
        Some(threads.map(of).sum())
    }

    /// The part of load thread `thread`.
    pub(crate) fn share(&self, thread: usize) -> Share {
        let threads = self.threads.len();
        Share { thread, threads, connections: self.connections, group: self.group.unwrap_or(threads) }
    }

    /// The intended times of a thread's requests at `rate` over all threads; `None` in a closed loop.
    pub(crate) fn schedule(&self, rate: Option<f64>, seed: u64, share: Share) -> Option<Schedule> {
        let profile = self.profile(rate)?;
        let tick_ns = self.direct.send_tick.map_or(0, |tick| tick.0.as_nanos() as u64);
        let schedule = Schedule::new(self.arrival, profile, seed, share).at_ticks(tick_ns);
        let from_ns = self.warmup.as_nanos() as u64;
        Some(match self.requests {
            Some(requests) => schedule.end_after(requests, from_ns),
            None => schedule,
        })
    }

    /// Time from the start of the window until the request behind those of [`Self::requests`] would be due; zero in a closed
    /// loop.
    pub(crate) fn paced(&self) -> Duration {
        let (Some(profile), Some(requests)) = (self.profile(self.rate), self.requests) else { return Duration::ZERO };
        let from_ns = self.warmup.as_nanos() as u64;
        let first = profile.first_from(from_ns);
        let at_ns = |request: f64| half_up(profile.due_ns(request));
        Duration::from_nanos((at_ns(first + requests as f64) - at_ns(first)).min(self.duration.as_nanos() as u64))
    }

    /// How the rate changes over the load; `None` in a closed loop.
    fn profile(&self, rate: Option<f64>) -> Option<Profile> {
        let rate = rate?;
        Some(match &self.replay {
            Some(times) => Profile::recorded(Arc::clone(times)),
            None if self.stages.is_empty() => Profile::constant(rate),
            None => Profile::staged(self.warmup, &self.stages),
        })
    }

    /// The steps of the rate or of the connections; none if neither changes.
    pub(crate) fn steps(&self) -> Vec<Step> {
        Step::of(if self.stages.is_empty() { &self.connection_stages } else { &self.stages })
    }

    /// Whether rate or connections change in the window by themselves.
    pub fn is_changing(&self) -> bool {
        !self.stages.is_empty() || !self.connection_stages.is_empty() || self.replay.is_some()
    }

    /// The highest rate of an open loop; the mean one in a replay.
    pub fn highest_rate(&self) -> Option<f64> {
        self.stages.iter().map(|stage| stage.from.max(stage.to)).reduce(f64::max).or(self.rate)
    }

    /// More than any thread takes of its schedule.
    pub(crate) fn most_requests(&self) -> u64 {
        let whole = self.warmup + self.duration + self.timeout;
        let of_rate = self.highest_rate().unwrap_or_default() * (whole.as_secs_f64() + 1.0);
        let of_log = self.replay.as_ref().map_or(0, |times| times.len() as u64);
        (2.0 * of_rate) as u64 + 1000 + of_log
    }

    /// Connections that are opened before the load.
    pub fn first_connections(&self) -> usize {
        self.connection_stages.first().map_or(self.connections, |stage| stage.from as usize)
    }

    /// Those of one thread.
    pub(crate) fn first_of(&self, share: Share) -> usize {
        if self.connection_stages.is_empty() { share.own() } else { share.below(self.first_connections()) }
    }
}
