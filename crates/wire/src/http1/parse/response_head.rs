//! The head of a response, and the body that it announces.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use super::fast_path::{self, StatusLine};
use super::{framing_headers::FramingHeaders, from_httparse};
use crate::http1::fields::{self, Ascii};
use crate::http1::{Body, Fields, Limits, MAX_FIELDS, ParseError, Persistence, Version};

/// The head of a response. Borrows from the received bytes.
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
    /// Whether the connection is kept after this response.
    pub persistence: Persistence,
    pub(crate) reason: Ascii<'a>,
}

impl<'a> Head<'a> {
    /// The reason phrase; empty if it holds bytes outside ASCII.
    pub fn reason(&self) -> &'a str {
        self.reason.text()
    }

    /// Whether the final response follows. `101 Switching Protocols` is final.
    #[inline]
    pub fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }
}

/// Parses a head, and returns its length too; `None` if it is incomplete. `to_head`: the request was HEAD. Considers only the
/// first [`Limits::head`] bytes.
#[inline]
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    to_head: bool,
    limits: &Limits,
) -> Result<Option<(Head<'a>, usize)>, ParseError> {
    // RFC 9112, 2.2, allows empty lines before requests only; httparse accepts them before responses, too.
    if matches!(bytes.first(), Some(b'\r' | b'\n')) {
        return Err(ParseError::StatusLine);
    }
    let window = bytes.get(..limits.head).unwrap_or(bytes);
    let mut framing = FramingHeaders::default();
    match fast_path::response(window, limits, &mut framing) {
        Some((line, fields, end)) => Ok(Some((decide(line, fields, &framing, to_head, limits)?, end))),
        None => parse_any(window, to_head, limits),
    }
}

/// The full parser. Fields are parsed on the stack, more than [`MAX_FIELDS`] on the heap.
#[inline(never)]
pub(crate) fn parse_any<'a>(
    window: &'a [u8],
    to_head: bool,
    limits: &Limits,
) -> Result<Option<(Head<'a>, usize)>, ParseError> {
    let mut slots = [const { MaybeUninit::uninit() }; MAX_FIELDS];
    match parse_in(&mut slots[..limits.fields.min(MAX_FIELDS)], window, to_head, limits) {
        Err(ParseError::TooManyFields) if limits.fields > MAX_FIELDS => {
            parse_in(&mut vec![MaybeUninit::uninit(); limits.fields], window, to_head, limits)
        }
        parsed => parsed,
    }
}

fn parse_in<'a>(
    slots: &mut [MaybeUninit<Header<'a>>],
    window: &'a [u8],
    to_head: bool,
    limits: &Limits,
) -> Result<Option<(Head<'a>, usize)>, ParseError> {
    let mut response = Response::new(&mut []);
    match ParserConfig::default().parse_response_with_uninit_headers(&mut response, window, slots) {
        Ok(Status::Complete(end)) => {
            let (Some(status), Some(minor)) = (response.code, response.version) else {
                return Err(ParseError::StatusLine);
            };
            let (bytes, headers) = (&window[..end], &*response.headers);
            if !fields::ends_lines_in_crlf(bytes, headers) {
                return Err(ParseError::LineEnding);
            }
            // RFC 9110, 15: codes below 100 have no class.
            if status < 100 {
                return Err(ParseError::StatusLine);
            }
            let version = if minor == 0 { Version::Http10 } else { Version::Http11 };
            let line = StatusLine { status, reason: response.reason.unwrap_or_default().as_bytes(), version };
            let framing = FramingHeaders::gather(headers)?;
            Ok(Some((decide(line, Fields::of(bytes, headers), &framing, to_head, limits)?, end)))
        }
        Ok(Status::Partial) if window.len() < limits.head => Ok(None),
        Ok(Status::Partial) => Err(ParseError::HeadTooLong),
        Err(error) => Err(from_httparse(error)),
    }
}

/// Determines framing and persistence of a well-formed head.
#[inline]
pub(crate) fn decide<'a>(
    line: StatusLine<'a>,
    fields: Fields<'a>,
    framing: &FramingHeaders<'a>,
    to_head: bool,
    limits: &Limits,
) -> Result<Head<'a>, ParseError> {
    let StatusLine { status, reason, version } = line;
    let announced = framing.body(version)?;
    let body = match announced {
        // RFC 9112, 6.3, rule 1: these have no body, whatever their fields announce.
        _ if to_head || matches!(status, 100..=199 | 204 | 304) => Body::Empty,
        Some(body) => body,
        // Rule 8.
        None => Body::UntilClose,
    };
    if matches!(body, Body::Sized(length) if length > limits.body) {
        return Err(ParseError::BodyTooLong);
    }
    let keep = framing.persists(version) && body != Body::UntilClose;
    Ok(Head { status, reason: Ascii(reason), version, fields, body, persistence: Persistence::keep_if(keep) })
}
