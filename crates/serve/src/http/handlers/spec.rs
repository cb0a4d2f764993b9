//! Responses described by the keys of a route: precomputed if constant, otherwise made by [`SpecHandler`].

use super::request_json;
use crate::http::config::settings::MAX_BUFFERED;
use crate::http::config::trigger::{DelaySampler, Trigger};
use crate::http::config::{Body, Pace, ResponseSpec};
use crate::http::handler::{Content, Fault, Handler, Request, Response};
use crate::http::response_writer::filling;
use brunt_wire::http1::StaticResponse;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The response as fixed bytes with its body length, if it is the same for every request and fits in one write.
pub(crate) fn static_response(spec: &ResponseSpec) -> Option<(StaticResponse, u64)> {
    let body = match &spec.body {
        Body::Bytes(bytes) if bytes.len() <= MAX_BUFFERED => bytes.clone(),
        Body::Filled(length) if *length <= MAX_BUFFERED as u64 => filling(*length as usize).into(),
        _ => return None,
    };
    if spec.pace.is_some() || spec.delay.is_some() || !spec.faults.is_empty() {
        return None;
    }
    let fields: Vec<(&str, &[u8])> = spec.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    // An invalid response is left to the handler, whose 500 says why.
    let response = StaticResponse::new(spec.status, &fields, &body).ok()?;
    Some((response, body.len() as u64))
}

pub(crate) struct SpecHandler {
    spec: ResponseSpec,
    /// The body if it does not depend on the request, already split into pieces.
    content: Option<Content>,
    delay: Option<DelaySampler>,
    faults: Vec<(Trigger, Fault)>,
}

impl SpecHandler {
    pub fn new(spec: &ResponseSpec, seed: u64, started: Instant) -> Self {
        let content = match (&spec.body, spec.pace) {
            (Body::Bytes(bytes), pace) => Some(split(bytes, pace)),
            (Body::Filled(length), None) => Some(Content::Filled(*length)),
            (Body::Filled(length), pace) => Some(split(&filling(*length as usize), pace)),
            (Body::Echo | Body::Reflect, _) => None,
        };
        let faults = (1..).zip(&spec.faults);
        Self {
            spec: spec.clone(),
            content,
            delay: spec.delay.clone().map(|delay| DelaySampler::new(delay, seed)),
            faults: faults.map(|(n, (when, fault))| (when.trigger(seed.wrapping_add(n), started), *fault)).collect(),
        }
    }
}

impl Handler for SpecHandler {
    fn respond(&mut self, request: &Request<'_>) -> Response {
        let mut fields = self.spec.fields.clone();
        let mut set_type = |value: &[u8]| {
            if !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                fields.push(("Content-Type".to_owned(), value.to_vec()));
            }
        };
        let body = match (&self.content, &self.spec.body) {
            (Some(content), _) => content.clone(),
            (None, Body::Reflect) => {
                set_type(b"application/json");
                split(&request_json::json(request), self.spec.pace)
            }
            (None, _) => {
                if let Some(value) = request.fields.get("content-type") {
                    set_type(value);
                }
                split(request.body, self.spec.pace)
            }
        };
        // Every trigger draws for every request, so that one does not shift the sequence of another. The first hit wins.
        let hits = self.faults.iter_mut().map(|(trigger, fault)| trigger.hits().then_some(*fault));
        let fault = hits.fold(None, |first, hit| first.or(hit));
        let delay = self.delay.as_mut().map_or(Duration::ZERO, DelaySampler::draw);
        Response { status: self.spec.status, fields, body, delay, fault }
    }

    fn wants_body(&self) -> bool {
        self.content.is_none()
    }
}

/// Splits a body into pieces if `pace` says so.
fn split(bytes: &[u8], pace: Option<Pace>) -> Content {
    let Some(Pace { pieces, every, sized }) = pace else { return Content::Whole(bytes.into()) };
    let pieces: Vec<Rc<[u8]>> = match pieces {
        Some(pieces) => {
            let size = bytes.len().div_ceil(pieces.max(1) as usize).max(1);
            bytes.chunks(size).map(Rc::from).collect()
        }
        None => split_events(bytes),
    };
    Content::Pieces { pieces, every, sized }
}

/// Splits after each empty line.
fn split_events(bytes: &[u8]) -> Vec<Rc<[u8]>> {
    let (mut events, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let end = rest.windows(2).position(|pair| pair == b"\n\n").map_or(rest.len(), |at| at + 2);
        events.push(Rc::from(&rest[..end]));
        rest = &rest[end..];
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(content: Content) -> Vec<String> {
        let Content::Pieces { pieces, .. } = content else { panic!("{content:?}") };
        pieces.iter().map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
    }

    #[test]
    fn bodies_are_split_into_the_requested_pieces() {
        let pace = |pieces| Some(Pace { pieces, every: Duration::ZERO, sized: true });
        assert_eq!(pieces(split(b"abcdefg", pace(Some(3)))), ["abc", "def", "g"]);
        assert_eq!(pieces(split(b"ab", pace(Some(10)))), ["a", "b"]);
        assert_eq!(pieces(split(b"", pace(Some(10)))), [""; 0]);
        assert_eq!(pieces(split(b"data: a\n\ndata: b\n\nrest", pace(None))), ["data: a\n\n", "data: b\n\n", "rest"]);
    }
}
