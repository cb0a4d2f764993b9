//! What a worker serves: listeners, routes and what each says, made ready from a [`Plan`]. Built anew when the plan changes.

use super::{
    config::{ListenerPlan, Plan, RoutePlan},
    handlers::Handler,
    handlers::spec,
    message::{Content, Response},
    metrics::HandlerTime,
    shared::Shared,
    usual::Usual,
    worker::Worker,
};
use brunt_wire::http1::{Head, Method, StaticResponse, Version};
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

/// All listeners of a plan.
pub(crate) struct Router {
    listeners: Vec<Listener>,
}

/// What one listener answers.
pub(crate) struct Listener {
    /// The exact paths first, then the prefixes, longer ones first.
    routes: Vec<Route>,
    /// Whether the first route takes every request.
    sole: bool,
    /// Of the requests that a sole constant answers.
    usual: Usual,
    /// How often connections are refused.
    pub refuse: Option<RefCell<super::config::trigger::Trigger>>,
    /// Connections speak TLS.
    pub tls: Option<brunt_tls::Acceptor>,
}

/// One route.
pub(crate) struct Route {
    plan: RoutePlan,
    pub reply: Reply,
}

/// Who answers.
pub(crate) enum Reply {
    /// The same bytes always.
    Constant(Constant),
    /// Somebody who thinks.
    Handler { handler: RefCell<Box<dyn Handler>>, time: Arc<HandlerTime> },
}

/// Why there is no route.
pub(crate) enum Missing {
    /// No such path.
    Path,
    /// The path has other methods.
    Method(Vec<String>),
}

impl Router {
    /// For worker number `worker`.
    pub fn new(plan: &Plan, shared: &Shared, worker: usize) -> Self {
        let listener =
            |(number, listener): (usize, &ListenerPlan)| Listener::new(listener, number, plan, shared, worker);
        Self { listeners: plan.listeners.iter().enumerate().map(listener).collect() }
    }

    #[inline]
    pub fn listener(&self, number: u16) -> &Listener {
        &self.listeners[usize::from(number)]
    }
}

impl Listener {
    fn new(plan: &ListenerPlan, number: usize, all: &Plan, shared: &Shared, worker: usize) -> Self {
        let mut routes: Vec<&RoutePlan> = plan.routes.iter().collect();
        // Stable: of two that are equal in this, the first in the file is asked first.
        routes.sort_by_key(|route| (!route.path.is_exact(), std::cmp::Reverse(route.path.length())));
        let sole = routes.first().is_some_and(|route| route.takes_all());
        let seed = |index: usize| all.seed ^ ((worker as u64) << 48 | (number as u64) << 32 | index as u64);
        let route = |(index, route): (usize, &RoutePlan)| Route {
            plan: route.clone(),
            reply: spec::reply(route, seed(index), shared),
        };
        let refuse = plan.refuse.as_ref().map(|when| RefCell::new(when.chance(seed(usize::MAX), shared.started)));
        let routes = routes.into_iter().enumerate().map(route).collect();
        Self { routes, sole, usual: Usual::default(), refuse, tls: plan.tls.clone() }
    }

    /// Answers the usual request, if that is what `input` begins with, and moves past it; returns the status.
    #[inline]
    pub fn answer_usual(&self, input: &mut &[u8], worker: &Worker, out: &mut Vec<u8>) -> Option<u16> {
        let rest = self.usual.strip(input)?;
        let [Route { reply: Reply::Constant(constant), .. }, ..] = &self.routes[..] else { return None };
        if !constant.write_again(out, worker) {
            return None;
        }
        *input = rest;
        Some(constant.status)
    }

    /// A sole constant has answered the request with this head, of which these are the bytes.
    #[inline]
    pub fn answered(&self, head: &Head<'_>, bytes: &[u8]) {
        if Constant::is_plain(head) {
            self.usual.saw(bytes);
        }
    }

    /// The constant that answers this request, if it answers every request.
    #[inline]
    pub fn sole(&self, head: &Head<'_>) -> Option<&Constant> {
        match &self.routes[..] {
            // RFC 9110, 9.3.6: a good answer to CONNECT would be a tunnel.
            [Route { reply: Reply::Constant(constant), .. }, ..] if self.sole && head.method != Method::Connect => {
                Some(constant)
            }
            _ => None,
        }
    }

    /// The route of a request.
    pub fn find(&self, head: &Head<'_>) -> Result<&Route, Missing> {
        let path = head.path_bytes();
        let mut others: Option<Vec<String>> = None;
        for route in self.routes.iter().filter(|route| route.plan.path.takes(path) && route.plan.takes_host(head)) {
            if route.plan.takes_method(head.method_name) && head.method != Method::Connect {
                return Ok(route);
            }
            others.get_or_insert_default().extend(route.plan.methods.iter().cloned());
        }
        Err(others.map_or(Missing::Path, Missing::Method))
    }

    pub fn wants_body(&self, head: &Head<'_>) -> bool {
        self.find(head).is_ok_and(|route| match &route.reply {
            Reply::Constant(_) => false,
            Reply::Handler { handler, .. } => handler.borrow().wants_body(),
        })
    }
}

impl Missing {
    pub fn answer(self) -> Response {
        let (status, text) = match &self {
            Self::Path => (404, "404 Not Found\n"),
            Self::Method(_) => (405, "405 Method Not Allowed\n"),
        };
        let mut fields = vec![("Content-Type".to_owned(), b"text/plain".to_vec())];
        if let Self::Method(mut methods) = self {
            // RFC 9110, 9.3.2: who takes GET takes HEAD.
            if methods.iter().any(|method| method == "GET") {
                methods.push("HEAD".to_owned());
            }
            methods.sort_unstable();
            methods.dedup();
            // RFC 9110, 15.5.6: it must be there, and an empty one says that there is no method at all.
            fields.push(("Allow".to_owned(), methods.join(", ").into_bytes()));
        }
        let body = Content::Whole(Rc::from(text.as_bytes()));
        Response { status, fields, body, delay: Duration::ZERO, fault: None }
    }
}

/// An answer that never changes, kept as the bytes of this second.
pub(crate) struct Constant {
    ready: StaticResponse,
    pub status: u16,
    pub length: u64,
    second: Cell<u64>,
    bytes: RefCell<Vec<u8>>,
}

impl Constant {
    pub fn new(ready: StaticResponse, status: u16, length: u64) -> Self {
        Self { ready, status, length, second: Cell::new(u64::MAX), bytes: RefCell::default() }
    }

    /// Appends it.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, head: &Head<'_>, worker: &Worker) {
        if !Self::is_plain(head) || !self.write_again(out, worker) {
            self.write_anew(out, head, worker);
        }
    }

    /// Whether the answer to this request is the same as that to most.
    #[inline]
    fn is_plain(head: &Head<'_>) -> bool {
        head.version == Version::Http11 && head.keeps_alive() && head.method != Method::Head
    }

    /// Appends the answer to most requests, if it is that of this second.
    #[inline]
    fn write_again(&self, out: &mut Vec<u8>, worker: &Worker) -> bool {
        let known = self.second.get() == worker.second() && !worker.is_stopping();
        if known {
            out.extend_from_slice(&self.bytes.borrow());
        }
        known
    }

    #[inline(never)]
    fn write_anew(&self, out: &mut Vec<u8>, head: &Head<'_>, worker: &Worker) {
        let start = out.len();
        let exchange = worker.exchange(head);
        let _as_asked = self.ready.write(out, exchange, &worker.stamp());
        if Self::is_plain(head) && !worker.is_stopping() {
            self.second.set(worker.second());
            let mut bytes = self.bytes.borrow_mut();
            bytes.clear();
            bytes.extend_from_slice(&out[start..]);
        }
    }
}
