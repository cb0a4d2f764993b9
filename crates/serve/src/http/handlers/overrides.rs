//! Response overrides by the client: headers `x-set-response-...`, or query arguments of the same names for clients
//! that can set only a URL. A header takes precedence; an invalid override is answered with a 400 that says why.

use super::request_json::argument;
use crate::http::{
    config::settings::{MAX_CLIENT_BYTES, MAX_CLIENT_DELAY},
    handler::Handler,
    handler::{Content, Request, Response},
};
use std::time::Duration;

/// Another's answers, as the client wants them.
pub(crate) struct Overrides(pub Box<dyn Handler>);

impl Handler for Overrides {
    fn respond(&mut self, request: &Request<'_>) -> Response {
        let mut answer = self.0.respond(request);
        match obey(request, &mut answer) {
            Ok(()) => answer,
            Err(why) => Response::text(400, format!("400 Bad Request: {why}\n").as_bytes()),
        }
    }

    fn wants_body(&self) -> bool {
        self.0.wants_body()
    }
}

fn obey(request: &Request<'_>, answer: &mut Response) -> Result<(), String> {
    let wish = |what: &str| {
        let name = format!("x-set-response-{what}");
        let field = request.fields.get(&name).map(|value| String::from_utf8_lossy(value).into_owned());
        field.or_else(|| argument(request, &name)).map(|value| (name, value))
    };
    let number = |what: &str, low: u64, high: u64| match wish(what) {
        None => Ok(None),
        Some((name, value)) => match value.parse() {
            Ok(number) if (low..=high).contains(&number) => Ok(Some(number)),
            _ => Err(format!("{name} '{value}' is no number from {low} to {high}")),
        },
    };
    if let Some(status) = number("status-code", 200, 599)? {
        answer.status = status as u16;
    }
    if let Some(delay) = number("delay-ms", 0, MAX_CLIENT_DELAY.as_millis() as u64)? {
        answer.delay = Duration::from_millis(delay);
    }
    if let Some(length) = number("body-bytes", 0, MAX_CLIENT_BYTES)? {
        answer.body = Content::Filled(length);
    }
    if let Some((name, value)) = wish("content-type") {
        if value.is_empty() || value.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(format!("{name} is empty or holds a control character"));
        }
        answer.fields.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        answer.fields.push(("Content-Type".to_owned(), value.into_bytes()));
    }
    Ok(())
}
