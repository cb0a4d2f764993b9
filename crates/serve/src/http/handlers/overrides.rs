//! Response overrides by clients: headers `x-set-response-...`, or query arguments of the same names for clients that can
//! set only a URL. A header takes precedence; an invalid override gets a 400 with the reason.

use super::request_json::argument;
use crate::http::config::settings::{MAX_CLIENT_BYTES, MAX_CLIENT_DELAY};
use crate::http::handler::{Content, Handler, Request, Response};
use std::time::Duration;

/// Applies overrides to the responses of another handler.
pub(crate) struct Overrides(pub Box<dyn Handler>);

impl Handler for Overrides {
    fn respond(&mut self, request: &Request<'_>) -> Response {
        let mut response = self.0.respond(request);
        match apply(request, &mut response) {
            Ok(()) => response,
            Err(why) => Response::text(400, format!("400 Bad Request: {why}\n").as_bytes()),
        }
    }

    fn wants_body(&self) -> bool {
        self.0.wants_body()
    }
}

fn apply(request: &Request<'_>, response: &mut Response) -> Result<(), String> {
    let wanted = |what: &str| {
        let name = format!("x-set-response-{what}");
        let field = request.fields.get(&name).map(|value| String::from_utf8_lossy(value).into_owned());
        field.or_else(|| argument(request, &name)).map(|value| (name, value))
    };
    let number = |what: &str, low: u64, high: u64| match wanted(what) {
        None => Ok(None),
        Some((name, value)) => match value.parse() {
            Ok(number) if (low..=high).contains(&number) => Ok(Some(number)),
            _ => Err(format!("{name} '{value}' is not a number from {low} to {high}")),
        },
    };
    if let Some(status) = number("status-code", 200, 599)? {
        response.status = status as u16;
    }
    if let Some(delay) = number("delay-ms", 0, MAX_CLIENT_DELAY.as_millis() as u64)? {
        response.delay = Duration::from_millis(delay);
    }
    if let Some(length) = number("body-bytes", 0, MAX_CLIENT_BYTES)? {
        response.body = Content::Filled(length);
    }
    if let Some((name, value)) = wanted("content-type") {
        if value.is_empty() || value.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(format!("{name} is empty or contains a control character"));
        }
        response.fields.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        response.fields.push(("Content-Type".to_owned(), value.into_bytes()));
    }
    Ok(())
}
