//! What is to be served, as data: read once, shared by all workers, replaced as a whole.

mod routes;
mod self_signed;
pub(crate) mod settings;
pub(crate) mod trigger;

pub use routes::read as read_routes;
pub use self_signed::CertCache;
pub use settings::Settings;

use crate::http::{
    config::trigger::{Delay, When},
    handler::Fault,
    script::Script,
};
use brunt_wire::http1::Head;
use std::{fmt, net::SocketAddr, str::FromStr, sync::Arc, time::Duration};

/// Everything that is to be served.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(crate) listeners: Vec<ListenerPlan>,
    pub(crate) seed: u64,
}

/// A listener and its routes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ListenerPlan {
    pub name: String,
    pub addresses: Vec<SocketAddr>,
    pub routes: Vec<RoutePlan>,
    /// Connections that are reset as soon as they are accepted.
    pub refuse: Option<When>,
    /// Connections speak TLS.
    pub tls: Option<brunt_tls::Acceptor>,
}

/// Requests of a kind, and what is done with them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoutePlan {
    /// For people: in metrics.
    pub name: String,
    pub path: Path,
    /// Any, if there are none.
    pub methods: Vec<String>,
    /// In lower case, without port.
    pub host: Option<String>,
    pub action: RouteAction,
    /// Whether the client may change the answer.
    pub control: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Path {
    Any,
    Exact(String),
    /// Up to and with a slash.
    Prefix(String),
}

/// What is done with a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RouteAction {
    Respond(ResponseSpec),
    Whoami,
    Httpbin,
    Metrics,
    Script(Script),
}

/// An answer that is described.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResponseSpec {
    pub status: u16,
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Body,
    pub pace: Option<Pace>,
    pub delay: Option<Delay>,
    /// The first that hits is made.
    pub faults: Vec<(When, Fault)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Bytes(Arc<[u8]>),
    Filled(u64),
    /// The body of the request, with its type.
    Echo,
    /// The request as JSON.
    Reflect,
}

/// A body in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// How many; `None`: a piece a line pair, as server-sent events are.
    pub pieces: Option<u64>,
    pub every: Duration,
    pub sized: bool,
}

/// A service that needs no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// "Hi, there!", whatever is asked.
    Hello,
    /// The body of the request.
    Echo,
    /// "You are requesting PATH from ADDRESS".
    Whoami,
    /// The paths of go-httpbin.
    Httpbin,
}

impl Service {
    /// All services with the word each is called by.
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
            path: Path::Any,
            methods: Vec::new(),
            host: None,
            action: self.action(),
            control: false,
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(service, _)| service == self).map_or("", |(_, word)| word))
    }
}

impl FromStr for Service {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, word)| *word == text).map(|(service, _)| *service);
        found.ok_or_else(|| {
            let words = Self::ALL.map(|(_, word)| word).join(", ");
            format!("'{text}' is no service; choose one of {words}")
        })
    }
}

impl Plan {
    /// One service on all of these addresses.
    pub fn service(service: Service, addresses: Vec<SocketAddr>) -> Self {
        let (name, routes) = (service.to_string(), vec![service.route()]);
        Self { listeners: vec![ListenerPlan { name, addresses, routes, ..ListenerPlan::default() }], seed: 1 }
    }

    /// A script that answers everything on all of these addresses; its random numbers follow from `seed`.
    pub fn script(script: Script, addresses: Vec<SocketAddr>, seed: u64) -> Self {
        let route =
            RoutePlan { name: "script".to_owned(), action: RouteAction::Script(script), ..Service::Hello.route() };
        let name = "script".to_owned();
        Self { listeners: vec![ListenerPlan { name, addresses, routes: vec![route], ..ListenerPlan::default() }], seed }
    }

    /// Hello, echo and whoami on three ports in a row, from 8080 of 127.0.0.1.
    pub fn demo() -> Self {
        let one = |(service, port): (Service, u16)| {
            Self::service(service, vec![SocketAddr::from(([127, 0, 0, 1], port))]).listeners
        };
        let services = [(Service::Hello, 8080), (Service::Echo, 8081), (Service::Whoami, 8082)];
        Self { listeners: services.into_iter().flat_map(one).collect(), seed: 1 }
    }

    /// The same with TLS on every listener.
    pub fn with_tls(mut self, tls: Option<&brunt_tls::Acceptor>) -> Self {
        self.listeners.iter_mut().for_each(|listener| listener.tls = tls.cloned());
        self
    }

    /// The addresses of all its listeners.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.listeners.iter().flat_map(|listener| listener.addresses.iter().copied())
    }

    /// The same with a listener for Prometheus.
    pub fn with_metrics(mut self, address: Option<SocketAddr>) -> Self {
        let Some(address) = address else { return self };
        let route = RoutePlan {
            name: "metrics".to_owned(),
            path: Path::Exact("/metrics".to_owned()),
            methods: vec!["GET".to_owned()],
            host: None,
            action: RouteAction::Metrics,
            control: false,
        };
        let (name, addresses) = ("metrics".to_owned(), vec![address]);
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
    /// Whether it takes whatever is asked.
    pub fn takes_all(&self) -> bool {
        self.path == Path::Any && self.methods.is_empty() && self.host.is_none()
    }

    pub fn takes_method(&self, method: &str) -> bool {
        let is = |own: &String| own == method || (method == "HEAD" && own == "GET");
        self.methods.is_empty() || self.methods.iter().any(is)
    }

    pub fn takes_host(&self, head: &Head<'_>) -> bool {
        let Some(host) = &self.host else { return true };
        let Some(authority) = head.authority() else { return false };
        let named = match authority.rsplit_once(':') {
            // The colon of an address in brackets is none of a port.
            Some((name, port)) if !port.ends_with(']') => name,
            _ => authority,
        };
        named.eq_ignore_ascii_case(host)
    }
}

impl Path {
    pub fn takes(&self, path: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(own) => own.as_bytes() == path,
            Self::Prefix(own) => path.starts_with(own.as_bytes()),
        }
    }

    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Exact(_))
    }

    pub fn length(&self) -> usize {
        match self {
            Self::Any => 0,
            Self::Exact(path) | Self::Prefix(path) => path.len(),
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
