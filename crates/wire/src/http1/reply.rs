//! The head of a response as a client reads it, and the body that follows from it.

use std::mem::MaybeUninit;

use httparse::{ParserConfig, Response, Status};

use super::{
    After, Body, Fault, Fields, Limits, MAX_FIELDS, Version,
    facts::Facts,
    fields::{self, Ascii},
    head, plain,
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
    pub after: After,
    pub(super) reason: Ascii<'a>,
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
pub(super) fn parse<'a>(bytes: &'a [u8], to_head: bool, limits: &Limits) -> Result<Option<(Head<'a>, usize)>, Fault> {
    // RFC 9112, 2.2, forgives empty lines to clients only; the parser forgives them to servers as well.
    if matches!(bytes.first(), Some(b'\r' | b'\n')) {
        return Err(Fault::StatusLine);
    }
    let window = bytes.get(..limits.head).unwrap_or(bytes);
    let mut facts = Facts::default();
    match plain::reply(window, limits, &mut facts) {
        Some((line, fields, end)) => Ok(Some((decide(line, fields, &facts, to_head, limits)?, end))),
        None => parse_any(window, to_head, limits),
    }
}

/// A status line.
pub(super) struct Line<'a> {
    pub status: u16,
    pub reason: &'a [u8],
    pub version: Version,
}

/// Parses whatever there is.
#[inline(never)]
pub(super) fn parse_any<'a>(
    window: &'a [u8],
    to_head: bool,
    limits: &Limits,
) -> Result<Option<(Head<'a>, usize)>, Fault> {
    let mut slots = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    let slots = &mut slots[..limits.fields.min(MAX_FIELDS)];
    let mut response = Response::new(&mut []);
    match ParserConfig::default().parse_response_with_uninit_headers(&mut response, window, slots) {
        Ok(Status::Complete(end)) => Ok(Some((check(&window[..end], &response, to_head, limits)?, end))),
        Ok(Status::Partial) if window.len() < limits.head => Ok(None),
        Ok(Status::Partial) => Err(Fault::HeadTooLong),
        Err(error) => Err(head::fault(error)),
    }
}

#[inline]
fn check<'a>(bytes: &'a [u8], response: &Response<'_, 'a>, to_head: bool, limits: &Limits) -> Result<Head<'a>, Fault> {
    let (Some(status), Some(minor)) = (response.code, response.version) else { return Err(Fault::StatusLine) };
    let headers = &*response.headers;
    if !fields::ends_lines_in_crlf(bytes, headers) {
        return Err(Fault::LineEnding);
    }
    // RFC 9110, 15: a code below 100 has no class to be treated as.
    if status < 100 {
        return Err(Fault::StatusLine);
    }
    let version = if minor == 0 { Version::Http10 } else { Version::Http11 };
    let line = Line { status, reason: response.reason.unwrap_or_default().as_bytes(), version };
    decide(line, Fields::of(bytes, headers), &Facts::gather(headers)?, to_head, limits)
}

/// Decides what a well-formed head means.
#[inline]
pub(super) fn decide<'a>(
    line: Line<'a>,
    fields: Fields<'a>,
    facts: &Facts<'a>,
    to_head: bool,
    limits: &Limits,
) -> Result<Head<'a>, Fault> {
    let Line { status, reason, version } = line;
    let announced = facts.body(version)?;
    let body = match announced {
        // RFC 9112, 6.3, rule 1: these have none, whatever their fields announce.
        _ if to_head || matches!(status, 100..=199 | 204 | 304) => Body::Empty,
        Some(body) => body,
        // Rule 8.
        None => Body::UntilClose,
    };
    if matches!(body, Body::Sized(length) if length > limits.body) {
        return Err(Fault::BodyTooLong);
    }
    let keep = facts.persists(version) && body != Body::UntilClose;
    Ok(Head { status, reason: Ascii(reason), version, fields, body, after: After::keep_if(keep) })
}
