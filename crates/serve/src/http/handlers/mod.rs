//! The handlers behind a route: services, described responses, metrics, scripts.

mod httpbin;
mod overrides;
pub(crate) mod query;
mod request_json;
mod spec;

pub(crate) use spec::{SpecHandler, static_response};

use super::config::{RouteAction, RoutePlan};
use super::handler::{Handler, Request, Response};
use super::metrics::Metrics;
use super::script::{self, Script};
use super::shared::Shared;
use httpbin::Httpbin;
use overrides::Overrides;
use std::sync::Arc;

pub(crate) fn build(route: &RoutePlan, seed: u64, shared: &Shared) -> Box<dyn Handler> {
    let handler: Box<dyn Handler> = match &route.action {
        RouteAction::Respond(spec) => Box::new(SpecHandler::new(spec, seed, shared.started)),
        RouteAction::Whoami => Box::new(Whoami),
        RouteAction::Httpbin => Box::new(Httpbin::new(seed)),
        RouteAction::Metrics => Box::new(MetricsPage(shared.metrics.clone())),
        RouteAction::Script(script) => {
            shared.metrics.register_script(script.name(), script.error_counter());
            script_handler(script, seed)
        }
    };
    if route.control { Box::new(Overrides(handler)) } else { handler }
}

/// Starts a script. It started before, when the plan was read, but can still fail here: its start may depend on time or
/// random numbers.
fn script_handler(script: &Script, seed: u64) -> Box<dyn Handler> {
    match script.instance(seed) {
        Ok(instance) => Box::new(instance),
        Err(fault) => {
            script::to_stderr(&format!("{fault} (a worker answers with 500 until the next reload)"));
            Box::new(|_: &Request<'_>| Response::text(500, b"the script failed\n"))
        }
    }
}

/// Responds with the path and the client's address.
struct Whoami;

impl Handler for Whoami {
    fn respond(&mut self, request: &Request<'_>) -> Response {
        let text = format!("You are requesting {} from {}\n", request.path, request.peer.ip());
        Response::text(200, text.as_bytes())
    }

    fn wants_body(&self) -> bool {
        false
    }
}

/// Responds with the metrics in Prometheus' text format.
struct MetricsPage(Arc<Metrics>);

impl Handler for MetricsPage {
    fn respond(&mut self, _: &Request<'_>) -> Response {
        Response::typed(200, "text/plain; version=0.0.4", self.0.page().as_bytes())
    }

    fn wants_body(&self) -> bool {
        false
    }
}
