//! Who decides an answer: a route, a service, a script. One instance a worker, so it may keep state without locks.

pub(crate) mod httpbin;
pub(crate) mod overrides;
pub(crate) mod request_json;
pub mod script;
pub(crate) mod spec;

use crate::http::message::{Request, Response};

/// Makes answers. Must never block: a delay is part of the answer.
pub trait Handler {
    /// The answer to one request.
    fn answer(&mut self, request: &Request<'_>) -> Response;

    /// Whether it looks at bodies; if not, they are received and dropped, and it sees none.
    fn wants_body(&self) -> bool {
        true
    }
}

impl<F: FnMut(&Request<'_>) -> Response> Handler for F {
    fn answer(&mut self, request: &Request<'_>) -> Response {
        self(request)
    }
}
