//! From the description of an answer to whoever gives it: a constant if nothing in it can change, else a handler.

use crate::http::{
    config::trigger::{DelaySampler, Trigger},
    config::{Body, Pace, ResponseSpec, RouteAction, RoutePlan},
    conversation::MAX_BUFFERED,
    handlers::Handler,
    handlers::httpbin::Httpbin,
    handlers::overrides::Overrides,
    handlers::request_json,
    handlers::script::{self, Script},
    message::{Content, Fault, Request, Response},
    metrics,
    response_writer::filling,
    router::{Constant, Reply},
    shared::Shared,
};
use brunt_wire::http1::StaticResponse;
use std::{cell::RefCell, rc::Rc, time::Duration};

/// Who answers the requests of a route.
pub(crate) fn reply(route: &RoutePlan, seed: u64, shared: &Shared) -> Reply {
    if !route.control
        && let RouteAction::Respond(say) = &route.action
        && let Some(constant) = constant(say)
    {
        return Reply::Constant(constant);
    }
    let handler: Box<dyn Handler> = match &route.action {
        RouteAction::Respond(say) => Box::new(SpecHandler::new(say, seed, shared)),
        RouteAction::Whoami => Box::new(Whoami),
        RouteAction::Httpbin => Box::new(Httpbin::new(seed)),
        RouteAction::Metrics => Box::new(metrics::Page(shared.metrics.clone())),
        RouteAction::Script(script) => {
            shared.metrics.watch(script);
            scripted(script, seed)
        }
    };
    let handler = if route.control { Box::new(Overrides(handler)) } else { handler };
    Reply::Handler { handler: RefCell::new(handler), time: shared.metrics.time(&route.name) }
}

/// The script on this worker. It was tried before, but may fail this time: it may ask for the time, or roll dice.
fn scripted(script: &Script, seed: u64) -> Box<dyn Handler> {
    match script.instance(seed) {
        Ok(instance) => Box::new(instance),
        Err(fault) => {
            script::to_stderr(&format!("{fault} (a worker answers with 500 until the next reload)"));
            Box::new(|_: &Request<'_>| text_answer(500, b"the script failed\n"))
        }
    }
}

/// The answer, if it is always the same and of one piece.
fn constant(say: &ResponseSpec) -> Option<Constant> {
    let body = match &say.body {
        Body::Bytes(bytes) if bytes.len() <= MAX_BUFFERED => bytes.clone(),
        Body::Filled(length) if *length <= MAX_BUFFERED as u64 => filling(*length as usize).into(),
        _ => return None,
    };
    if say.pace.is_some() || say.delay.is_some() || !say.faults.is_empty() {
        return None;
    }
    let fields: Vec<(&str, &[u8])> = say.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    // One that cannot be sent is left to the handler, which says why.
    let ready = StaticResponse::new(say.status, &fields, &body).ok()?;
    Some(Constant::new(ready, say.status, body.len() as u64))
}

/// Gives an answer that is described.
struct SpecHandler {
    status: u16,
    fields: Vec<(String, Vec<u8>)>,
    body: Body,
    /// The bytes of the body if they are always the same, in pieces if so asked.
    content: Option<Content>,
    pace: Option<Pace>,
    delay: Option<DelaySampler>,
    faults: Vec<(Trigger, Fault)>,
}

impl SpecHandler {
    fn new(say: &ResponseSpec, seed: u64, shared: &Shared) -> Self {
        let content = match (&say.body, say.pace) {
            (Body::Bytes(bytes), pace) => Some(paced(bytes, pace)),
            (Body::Filled(length), None) => Some(Content::Filled(*length)),
            (Body::Filled(length), pace) => Some(paced(&filling(*length as usize), pace)),
            (Body::Echo | Body::Reflect, _) => None,
        };
        let chance = |(at, (when, fault)): (usize, &(crate::http::config::trigger::When, Fault))| {
            (when.chance(seed.wrapping_add(at as u64 + 1), shared.started), *fault)
        };
        Self {
            status: say.status,
            fields: say.fields.clone(),
            body: say.body.clone(),
            content,
            pace: say.pace,
            delay: say.delay.clone().map(|delay| DelaySampler::new(delay, seed)),
            faults: say.faults.iter().enumerate().map(chance).collect(),
        }
    }
}

impl Handler for SpecHandler {
    fn answer(&mut self, request: &Request<'_>) -> Response {
        let mut fields = self.fields.clone();
        let mut typed = |value: &[u8]| {
            if !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                fields.push(("Content-Type".to_owned(), value.to_vec()));
            }
        };
        let body = match (&self.content, &self.body) {
            (Some(content), _) => content.clone(),
            (None, Body::Reflect) => {
                typed(b"application/json");
                paced(&request_json::json(request), self.pace)
            }
            (None, _) => {
                if let Some(value) = request.fields.get("content-type") {
                    typed(value);
                }
                paced(request.body, self.pace)
            }
        };
        // Everybody draws, so that one chance does not shift another.
        let hit = self.faults.iter_mut().map(|(chance, fault)| chance.hits().then_some(*fault));
        let fault = hit.fold(None, |first, hit| first.or(hit));
        let delay = self.delay.as_mut().map_or(Duration::ZERO, DelaySampler::draw);
        Response { status: self.status, fields, body, delay, fault }
    }

    fn wants_body(&self) -> bool {
        self.content.is_none()
    }
}

/// In pieces, if so asked.
pub(crate) fn paced(bytes: &[u8], pace: Option<Pace>) -> Content {
    let Some(Pace { pieces, every, sized }) = pace else { return Content::Whole(bytes.into()) };
    let pieces: Vec<Rc<[u8]>> = match pieces {
        Some(pieces) => {
            let size = bytes.len().div_ceil(pieces.max(1) as usize).max(1);
            bytes.chunks(size).map(Rc::from).collect()
        }
        None => events(bytes),
    };
    Content::Pieces { pieces, every, sized }
}

/// Cut behind each empty line.
fn events(bytes: &[u8]) -> Vec<Rc<[u8]>> {
    let (mut events, mut start) = (Vec::new(), 0);
    for at in 1..bytes.len() {
        if bytes[at] == b'\n' && bytes[at - 1] == b'\n' {
            events.push(Rc::from(&bytes[start..=at]));
            start = at + 1;
        }
    }
    if start < bytes.len() {
        events.push(Rc::from(&bytes[start..]));
    }
    events
}

/// Tells the client what it asks for and who it is.
struct Whoami;

impl Handler for Whoami {
    fn answer(&mut self, request: &Request<'_>) -> Response {
        let text = format!("You are requesting {} from {}\n", request.path, request.peer.ip());
        text_answer(200, text.as_bytes())
    }

    fn wants_body(&self) -> bool {
        false
    }
}

/// Plain text.
pub(crate) fn text_answer(status: u16, text: &[u8]) -> Response {
    typed_answer(status, "text/plain", text)
}

/// A whole answer of a type.
pub(crate) fn typed_answer(status: u16, media: &str, body: &[u8]) -> Response {
    let fields = vec![("Content-Type".to_owned(), media.as_bytes().to_vec())];
    Response { status, fields, body: Content::Whole(body.into()), delay: Duration::ZERO, fault: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(content: Content) -> Vec<String> {
        let Content::Pieces { pieces, .. } = content else { panic!("{content:?}") };
        pieces.iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
    }

    #[test]
    fn bodies_are_cut_into_the_pieces_asked_for() {
        let pace = |pieces| Some(Pace { pieces, every: Duration::ZERO, sized: true });
        assert_eq!(pieces(paced(b"abcdefg", pace(Some(3)))), ["abc", "def", "g"]);
        assert_eq!(pieces(paced(b"ab", pace(Some(10)))), ["a", "b"]);
        assert_eq!(pieces(paced(b"", pace(Some(10)))), [""; 0]);
        assert_eq!(pieces(paced(b"data: a\n\ndata: b\n\nrest", pace(None))), ["data: a\n\n", "data: b\n\n", "rest"]);
    }
}
