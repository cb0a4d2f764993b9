//! The handlers behind a route: services, described responses, metrics, scripts.

mod httpbin;
mod overrides;
pub mod query;
mod request_json;
mod spec;

pub(crate) use spec::{SpecHandler, static_response};

use super::config::{RouteAction, RoutePlan};
use super::handler::{Handler, Request, Response};
use super::script::{self, Script};
use super::shared::Shared;
use httpbin::Httpbin;
use overrides::Overrides;

pub(crate) fn build(route: &RoutePlan, seed: u64, shared: &Shared) -> Box<dyn Handler> {
    let handler: Box<dyn Handler> = match &route.action {
        RouteAction::Respond(spec) => Box::new(SpecHandler::new(spec, seed, shared.started)),
        RouteAction::Whoami => Box::new(WithoutBody(whoami)),
        RouteAction::Httpbin => Box::new(Httpbin::new(seed)),
        RouteAction::Metrics => {
            let (metrics, text) = (shared.metrics.clone(), "text/plain; version=0.0.4");
            Box::new(WithoutBody(move |_: &Request<'_>| Response::typed(200, text, metrics.page().as_bytes())))
        }
        RouteAction::Script(script) => {
            shared.metrics.register_script(script.name(), script.error_counter());
            script_handler(script, seed)
        }
        RouteAction::Custom(make) => make.handler(),
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

fn whoami(request: &Request<'_>) -> Response {
    let text = format!("You are requesting {} from {}\n", request.path, request.peer.ip());
    Response::text(200, text.as_bytes())
}

/// A handler that does not read bodies.
struct WithoutBody<F>(F);

impl<F: FnMut(&Request<'_>) -> Response> Handler for WithoutBody<F> {
    fn respond(&mut self, request: &Request<'_>) -> Response {
        self.0(request)
    }

    fn wants_body(&self) -> bool {
        false
    }
}
