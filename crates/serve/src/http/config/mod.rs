//! The plan of a server as data: shared by all workers, replaced as a whole.

mod routes;
mod self_signed;
pub(crate) mod settings;
pub(crate) mod trigger;

pub use routes::read as read_routes;
pub use self_signed::CertCache;
pub use settings::Settings;

use crate::http::config::trigger::{Delay, When};
use crate::http::handler::{Factory, Fault};
use crate::http::script::Script;
use crate::model::{by_word, word_of};
use brunt_wire::http1::Head;
use std::{fmt, net::SocketAddr, str::FromStr, sync::Arc, time::Duration};

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(crate) listeners: Vec<ListenerPlan>,
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ListenerPlan {
    pub name: String,
    pub addresses: Vec<SocketAddr>,
    pub routes: Vec<RoutePlan>,
    /// When connections are reset on accept.
    pub refuse: Option<When>,
    /// `None` for plain TCP.
    pub tls: Option<brunt_tls::Acceptor>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoutePlan {
    /// Shown in metrics.
    pub name: String,
    pub path: Path,
    /// Empty for all.
    pub methods: Vec<String>,
    /// Lower case, without port; `None` for all.
    pub host: Option<String>,
    pub action: RouteAction,
    /// Whether clients may override parts of the response.
    pub control: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Path {
    Any,
    Exact(String),
    /// Ends with a slash.
    Prefix(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RouteAction {
    Respond(ResponseSpec),
    Whoami,
    Httpbin,
    Metrics,
    Script(Script),
    Custom(Factory),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResponseSpec {
    pub status: u16,
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Body,
    pub pace: Option<Pace>,
    pub delay: Option<Delay>,
    /// The first one whose trigger hits is injected.
    pub faults: Vec<(When, Fault)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Bytes(Arc<[u8]>),
    Filled(u64),
    /// The body of the request, with its media type.
    Echo,
    Reflect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Number of pieces; `None` ends a piece at each empty line, as in server-sent events.
    pub pieces: Option<u64>,
    pub every: Duration,
    pub sized: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// "Hi, there!" for every request.
    Hello,
    /// The body of the request.
    Echo,
    /// "You are requesting PATH from ADDRESS".
    Whoami,
    /// The paths of go-httpbin.
    Httpbin,
}

impl Service {
    pub const ALL: [(Self, &str); 4] =
        [(Self::Hello, "hello"), (Self::Echo, "echo"), (Self::Whoami, "whoami"), (Self::Httpbin, "httpbin")];

    pub(crate) fn action(self) -> RouteAction {
        match self {
            Self::Hello => RouteAction::Respond(ResponseSpec::text("Hi, there!\n")),
            Self::Echo => RouteAction::Respond(ResponseSpec { body: Body::Echo, ..ResponseSpec::default() }),
            Self::Whoami => RouteAction::Whoami,
            Self::Httpbin => RouteAction::Httpbin,
        }
    }

    pub(crate) fn route(self) -> RoutePlan {
        RoutePlan {
            name: self.to_string(),
            action: self.action(),
            path: Path::Any,
            methods: Vec::new(),
            host: None,
            control: false,
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word_of(&Self::ALL, *self))
    }
}

impl FromStr for Service {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        by_word(&Self::ALL, text, "service")
    }
}

impl Plan {
    pub fn service(service: Service, addresses: Vec<SocketAddr>) -> Self {
        Self::one(&service.to_string(), service.route(), addresses, 1)
    }

    /// A script for all requests on these addresses; `seed` is that of its random numbers.
    pub fn script(script: Script, addresses: Vec<SocketAddr>, seed: u64) -> Self {
        Self::all("script", RouteAction::Script(script), addresses, seed)
    }

    /// Handlers of the caller for all requests on these addresses, one for each worker.
    pub fn handler(name: &str, make: Factory, addresses: Vec<SocketAddr>) -> Self {
        Self::all(name, RouteAction::Custom(make), addresses, 1)
    }

    /// One action for all requests on these addresses.
    fn all(name: &str, action: RouteAction, addresses: Vec<SocketAddr>, seed: u64) -> Self {
        let route = RoutePlan { name: name.to_owned(), action, ..Service::Hello.route() };
        Self::one(name, route, addresses, seed)
    }

    fn one(name: &str, route: RoutePlan, addresses: Vec<SocketAddr>, seed: u64) -> Self {
        let (name, routes) = (name.to_owned(), vec![route]);
        Self { listeners: vec![ListenerPlan { name, addresses, routes, ..ListenerPlan::default() }], seed }
    }

    /// Hello, echo and whoami on ports 8080 to 8082 of 127.0.0.1.
    pub fn demo() -> Self {
        let one = |(service, port): (Service, u16)| {
            Self::service(service, vec![SocketAddr::from(([127, 0, 0, 1], port))]).listeners
        };
        let services = [(Service::Hello, 8080), (Service::Echo, 8081), (Service::Whoami, 8082)];
        Self { listeners: services.into_iter().flat_map(one).collect(), seed: 1 }
    }

    pub fn with_tls(mut self, tls: Option<&brunt_tls::Acceptor>) -> Self {
        self.listeners.iter_mut().for_each(|listener| listener.tls = tls.cloned());
        self
    }

    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.listeners.iter().flat_map(|listener| listener.addresses.iter().copied())
    }

    /// Adds a listener with the path /metrics for Prometheus.
    pub fn with_metrics(mut self, address: Option<SocketAddr>) -> Self {
        let Some(address) = address else { return self };
        let (name, addresses) = ("metrics".to_owned(), vec![address]);
        let (path, methods) = (Path::Exact("/metrics".to_owned()), vec!["GET".to_owned()]);
        let route =
            RoutePlan { name: name.clone(), path, methods, action: RouteAction::Metrics, ..Service::Hello.route() };
        self.listeners.push(ListenerPlan { name, addresses, routes: vec![route], ..ListenerPlan::default() });
        self
    }
}

impl Default for ResponseSpec {
    fn default() -> Self {
        Self {
            status: 200,
            fields: Vec::new(),
            body: Body::Bytes(Arc::from([])),
            pace: None,
            delay: None,
            faults: Vec::new(),
        }
    }
}

impl ResponseSpec {
    fn text(text: &str) -> Self {
        let fields = vec![("Content-Type".to_owned(), b"text/plain".to_vec())];
        Self { fields, body: Body::Bytes(Arc::from(text.as_bytes())), ..Self::default() }
    }
}

impl RoutePlan {
    pub fn matches_all(&self) -> bool {
        self.path == Path::Any && self.methods.is_empty() && self.host.is_none()
    }

    pub fn matches_method(&self, method: &str) -> bool {
        let matches = |own: &String| own == method || (method == "HEAD" && own == "GET");
        self.methods.is_empty() || self.methods.iter().any(matches)
    }

    pub fn matches_host(&self, head: &Head<'_>) -> bool {
        let Some(host) = &self.host else { return true };
        let Some(authority) = head.authority() else { return false };
        let named = match authority.rsplit_once(':') {
            // Colons inside brackets belong to an IPv6 address.
            Some((name, port)) if !port.ends_with(']') => name,
            _ => authority,
        };
        named.eq_ignore_ascii_case(host)
    }
}

impl Path {
    pub fn matches(&self, path: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(own) => own.as_bytes() == path,
            Self::Prefix(own) => path.starts_with(own.as_bytes()),
        }
    }

    /// Exact paths precede prefixes; longer ones precede shorter ones.
    pub fn specificity(&self) -> (bool, usize) {
        match self {
            Self::Any => (false, 0),
            Self::Exact(path) => (true, path.len()),
            Self::Prefix(path) => (false, path.len()),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("/*"),
            Self::Exact(path) => f.write_str(path),
            Self::Prefix(path) => write!(f, "{path}*"),
        }
    }
}
