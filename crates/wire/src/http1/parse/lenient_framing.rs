//! The body that the fields of a response announce, read leniently: lists of equal lengths, other codings before `chunked`,
//! both beside each other (RFC 9112, 6.1 and 6.3; RFC 9110, 8.6 and 5.6.1).

use super::framing_headers::decimal;
use crate::http1::{Body, Fields, Leniencies, Leniency, ParseError, Version, fields::elements};

/// Fields that frame or route a message, or control its connection.
pub(crate) const NAMES: [&str; 5] = ["content-length", "transfer-encoding", "host", "connection", "expect"];

pub(crate) struct Announced {
    /// `None` if no field announces one.
    pub body: Option<Body>,
    /// Whether the connection must close behind the message, because others may read its end differently.
    pub closes: bool,
}

pub(crate) fn of(fields: Fields<'_>, version: Version, accepted: &mut Leniencies) -> Result<Announced, ParseError> {
    let coded = coding(fields, accepted)?;
    let Some(body) = coded else {
        let body = length(fields, accepted)?;
        return Ok(Announced { body, closes: false });
    };
    // RFC 9112, 6.3, rule 3: Transfer-Encoding overrides Content-Length, whatever that says.
    let has_length = fields.get("content-length").is_some();
    if has_length {
        accepted.insert(Leniency::LengthAndCoding);
    }
    // RFC 9112, 6.1: the framing is taken as faulty, and the connection closes after the message.
    let is_old = version == Version::Http10;
    if is_old {
        accepted.insert(Leniency::CodingInHttp10);
    }
    Ok(Announced { body: Some(body), closes: has_length || is_old })
}

/// The framing by transfer codings: chunked, or until the close if another one is the last (RFC 9112, 6.3, rule 4).
fn coding(fields: Fields<'_>, accepted: &mut Leniencies) -> Result<Option<Body>, ParseError> {
    let (mut chunked, mut last_is_chunked, mut any) = (0, false, false);
    for name in fields.all("transfer-encoding").flat_map(elements) {
        if name.is_empty() {
            accepted.insert(Leniency::EmptyMember);
        } else if name.eq_ignore_ascii_case(b"identity") {
            accepted.insert(Leniency::CodingIdentity);
        } else {
            any = true;
            last_is_chunked = name.eq_ignore_ascii_case(b"chunked");
            match last_is_chunked {
                true => chunked += 1,
                false => accepted.insert(Leniency::CodingOther),
            }
        }
    }
    match chunked {
        0 | 1 if last_is_chunked => Ok(Some(Body::Chunked)),
        0 | 1 => Ok(any.then_some(Body::UntilClose)),
        // RFC 9112, 7.1: chunked is applied once at most.
        _ => Err(ParseError::CodingInvalid),
    }
}

/// The framing by length: one number, which may be repeated (RFC 9110, 8.6).
fn length(fields: Fields<'_>, accepted: &mut Leniencies) -> Result<Option<Body>, ParseError> {
    let mut length = None;
    let mut any = false;
    for member in fields.all("content-length").flat_map(elements) {
        any = true;
        if member.is_empty() {
            accepted.insert(Leniency::EmptyMember);
            continue;
        }
        let number = decimal(member)?;
        match length.replace(number) {
            Some(before) if before != number => return Err(ParseError::LengthsDiffer),
            Some(_) => accepted.insert(Leniency::LengthRepeated),
            None => (),
        }
    }
    match length {
        Some(0) => Ok(Some(Body::Empty)),
        Some(length) => Ok(Some(Body::Sized(length))),
        None if any => Err(ParseError::LengthInvalid),
        None => Ok(None),
    }
}
