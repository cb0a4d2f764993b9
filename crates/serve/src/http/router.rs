//! Finds the route of a request. Each worker builds its own router from the [`Plan`], again after every reload.

use super::config::trigger::Trigger;
use super::config::{ListenerPlan, Plan, RouteAction, RoutePlan};
use super::handler::{Handler, Response};
use super::handlers;
use super::metrics::HandlerTime;
use super::shared::Shared;
use brunt_wire::http1::{Head, Method, StaticResponse};
use std::{cell::RefCell, sync::Arc};

pub(crate) struct Router {
    listeners: Vec<Listener>,
}

pub(crate) struct Listener {
    /// Exact paths first, then prefixes, longer ones first.
    routes: Vec<Route>,
    pub refuse: Option<RefCell<Trigger>>,
    pub tls: Option<brunt_tls::Acceptor>,
}

pub(crate) struct Route {
    plan: RoutePlan,
    pub responder: Responder,
}

pub(crate) enum Responder {
    /// Precomputed bytes.
    Static {
        response: StaticResponse,
        status: u16,
        length: u64,
    },
    Handler {
        handler: RefCell<Box<dyn Handler>>,
        time: Arc<HandlerTime>,
    },
}

impl Router {
    pub fn new(plan: &Plan, shared: &Shared, worker: usize) -> Self {
        let listeners = (0..).zip(&plan.listeners);
        let seed = |number: u64| plan.seed ^ ((worker as u64) << 48 | number << 32);
        Self {
            listeners: listeners.map(|(n, listener)| Listener::new(listener, seed(n), !plan.seed, shared)).collect(),
        }
    }

    #[inline]
    pub fn listener(&self, number: u16) -> &Listener {
        &self.listeners[usize::from(number)]
    }
}

impl Listener {
    fn new(plan: &ListenerPlan, seed: u64, refuse_seed: u64, shared: &Shared) -> Self {
        let mut routes: Vec<&RoutePlan> = plan.routes.iter().collect();
        // Stable: of equally specific routes, the first in the file wins.
        routes.sort_by_key(|route| std::cmp::Reverse(route.path.specificity()));
        let route = |(index, route): (u64, &RoutePlan)| Route {
            plan: route.clone(),
            responder: Responder::new(route, seed ^ index, shared),
        };
        let refuse = plan.refuse.as_ref().map(|when| RefCell::new(when.trigger(refuse_seed, shared.started)));
        Self { routes: (0..).zip(routes).map(route).collect(), refuse, tls: plan.tls.clone() }
    }

    /// The error holds the methods of the routes with this path, if there are any.
    #[inline]
    pub fn find(&self, head: &Head<'_>) -> Result<&Route, Option<Vec<String>>> {
        match &self.routes[..] {
            // RFC 9110, 9.3.6: a 2xx response to CONNECT would open a tunnel.
            [route, ..] if route.plan.matches_all() && head.method != Method::Connect => Ok(route),
            _ => self.search(head),
        }
    }

    fn search(&self, head: &Head<'_>) -> Result<&Route, Option<Vec<String>>> {
        let path = head.path_bytes();
        let mut methods: Option<Vec<String>> = None;
        for route in self.routes.iter().filter(|route| route.plan.path.matches(path) && route.plan.matches_host(head)) {
            if route.plan.matches_method(head.method_name) && head.method != Method::Connect {
                return Ok(route);
            }
            methods.get_or_insert_default().extend(route.plan.methods.iter().cloned());
        }
        Err(methods)
    }

    pub fn wants_body(&self, head: &Head<'_>) -> bool {
        self.find(head).is_ok_and(|route| match &route.responder {
            Responder::Static { .. } => false,
            Responder::Handler { handler, .. } => handler.borrow().wants_body(),
        })
    }
}

impl Responder {
    fn new(route: &RoutePlan, seed: u64, shared: &Shared) -> Self {
        if let RouteAction::Respond(spec) = &route.action
            && !route.control
            && let Some((response, length)) = handlers::static_response(spec)
        {
            return Self::Static { response, status: spec.status, length };
        }
        let handler = RefCell::new(handlers::build(route, seed, shared));
        Self::Handler { handler, time: shared.metrics.time(&route.name) }
    }
}

/// The response to a request for which [`Listener::find`] returns this error.
pub(crate) fn no_route(methods: Option<Vec<String>>) -> Response {
    let Some(mut methods) = methods else { return Response::text(404, b"404 Not Found\n") };
    // RFC 9110, 9.3.2: a resource that takes GET takes HEAD.
    if methods.iter().any(|method| method == "GET") {
        methods.push("HEAD".to_owned());
    }
    methods.sort_unstable();
    methods.dedup();
    let mut response = Response::text(405, b"405 Method Not Allowed\n");
    // RFC 9110, 15.5.6: Allow is required; an empty value means that no method is allowed.
    response.fields.push(("Allow".to_owned(), methods.join(", ").into_bytes()));
    response
}
