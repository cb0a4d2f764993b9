//! Who decides an answer: a route, a service, a script. One instance a worker, so it may keep state without locks.

use super::answer::{Answer, Request};

/// Makes answers. Must never block: a delay is part of the answer.
pub trait Handler {
    /// The answer to one request.
    fn answer(&mut self, request: &Request<'_>) -> Answer;

    /// Whether it looks at bodies; if not, they are received and dropped, and it sees none.
    fn wants_body(&self) -> bool {
        true
    }
}

impl<F: FnMut(&Request<'_>) -> Answer> Handler for F {
    fn answer(&mut self, request: &Request<'_>) -> Answer {
        self(request)
    }
}
