//! The head of a response as a client reads it, and the body that follows from it.

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Response, Status};

use super::{fast_path, framing_headers::FramingHeaders, from_httparse, line::StatusLine};
use crate::http1::{
    Body, Fields, Limits, MAX_FIELDS, ParseError, Persistence, Version,
    fields::{self, Ascii},
};

/// The head of a response. Borrows from the bytes received.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The status code, 100 to 999.
    pub status: u16,
    /// The version.
    pub version: Version,
    /// All fields, those that frame the message included.
    pub fields: Fields<'a>,
    /// The body that follows.
    pub body: Body,
    /// What becomes of the connection behind this response.
    pub persistence: Persistence,
    pub(crate) reason: Ascii<'a>,
}

impl<'a> Head<'a> {
    /// The reason phrase; empty if it holds bytes outside ASCII.
    pub fn reason(&self) -> &'a str {
        self.reason.text()
    }

    /// Whether the final response is still to come. `101 Switching Protocols` is final.
    #[inline]
    pub fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }
}

/// Parses the head of an answer to a request that was, or was not, HEAD. `None` if its end has not come. Only the first
/// [`Limits::head`] bytes are looked at.
#[inline]
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    to_head: bool,
    limits: &Limits,
) -> Result<Option<(Head<'a>, usize)>, ParseError> {
    // RFC 9112, 2.2, forgives empty lines to clients only; the parser forgives them to servers as well.
    if matches!(bytes.first(), Some(b'\r' | b'\n')) {
        return Err(ParseError::StatusLine);
    }
    let window = bytes.get(..limits.head).unwrap_or(bytes);
    let mut facts = FramingHeaders::default();
    match fast_path::response(window, limits, &mut facts) {
        Some((line, fields, end)) => Ok(Some((decide(line, fields, &facts, to_head, limits)?, end))),
        None => parse_any(window, to_head, limits),
    }
}

/// Parses whatever there is.
#[inline(never)]
pub(crate) fn parse_any<'a>(
    window: &'a [u8],
    to_head: bool,
    limits: &Limits,
) -> Result<Option<(Head<'a>, usize)>, ParseError> {
    let mut slots = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let slots = &mut slots[..limits.fields.min(MAX_FIELDS)];
    let mut response = Response::new(&mut []);
    match ParserConfig::default().parse_response_with_uninit_headers(&mut response, window, slots) {
        Ok(Status::Complete(end)) => Ok(Some((check(&window[..end], &response, to_head, limits)?, end))),
        Ok(Status::Partial) if window.len() < limits.head => Ok(None),
        Ok(Status::Partial) => Err(ParseError::HeadTooLong),
        Err(error) => Err(from_httparse(error)),
    }
}

#[inline]
fn check<'a>(
    bytes: &'a [u8],
    response: &Response<'_, 'a>,
    to_head: bool,
    limits: &Limits,
) -> Result<Head<'a>, ParseError> {
    let (Some(status), Some(minor)) = (response.code, response.version) else { return Err(ParseError::StatusLine) };
    let headers = &*response.headers;
    if !fields::ends_lines_in_crlf(bytes, headers) {
        return Err(ParseError::LineEnding);
    }
    // RFC 9110, 15: a code below 100 has no class to be treated as.
    if status < 100 {
        return Err(ParseError::StatusLine);
    }
    let version = if minor == 0 { Version::Http10 } else { Version::Http11 };
    let line = StatusLine { status, reason: response.reason.unwrap_or_default().as_bytes(), version };
    decide(line, Fields::of(bytes, headers), &FramingHeaders::gather(headers)?, to_head, limits)
}

/// Decides what a well-formed head means.
#[inline]
pub(crate) fn decide<'a>(
    line: StatusLine<'a>,
    fields: Fields<'a>,
    facts: &FramingHeaders<'a>,
    to_head: bool,
    limits: &Limits,
) -> Result<Head<'a>, ParseError> {
    let StatusLine { status, reason, version } = line;
    let announced = facts.body(version)?;
    let body = match announced {
        // RFC 9112, 6.3, rule 1: these have none, whatever their fields announce.
        _ if to_head || matches!(status, 100..=199 | 204 | 304) => Body::Empty,
        Some(body) => body,
        // Rule 8.
        None => Body::UntilClose,
    };
    if matches!(body, Body::Sized(length) if length > limits.body) {
        return Err(ParseError::BodyTooLong);
    }
    let keep = facts.persists(version) && body != Body::UntilClose;
    Ok(Head { status, reason: Ascii(reason), version, fields, body, persistence: Persistence::keep_if(keep) })
}
