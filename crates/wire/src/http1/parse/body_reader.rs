//! What follows a head, for both ends: the body, and after a chunked one its trailer section (RFC 9112, 7.1.2), which is
//! validated, bounded, and kept apart from the fields of the head.

use httparse::{EMPTY_HEADER, Status};

use super::body::{Decoder, Piece};
use super::{Partial, framing_headers::FramingHeaders, from_httparse};
use crate::http1::{Body, Fields, Limits, MAX_FIELDS, ParseError, fields};

/// The next part of a message.
pub(crate) enum Part<'a> {
    /// Bytes of the body, at least one.
    Data(&'a [u8]),
    /// A trailer section with at least one field.
    Trailers(Fields<'a>),
    End,
    /// The input is used up.
    More,
    /// The connection cannot be used any more; input and buffer are cleared.
    Error(ParseError),
}

/// Takes the next part from `input`. `partial` collects an incomplete trailer section; a head that it still holds has been
/// processed and is dropped.
#[inline]
pub(crate) fn next<'c, 'i: 'c>(
    body: &mut Decoder,
    partial: &'c mut Partial,
    input: &mut &'i [u8],
    limits: &Limits,
) -> Part<'c> {
    if !partial.is_none() && !body.is_in_trailers() {
        partial.clear();
    }
    let section = match body.next(input, limits) {
        Ok(Piece::Data(data)) => return Part::Data(data),
        Ok(Piece::End) => return Part::End,
        Ok(Piece::More) => return Part::More,
        Ok(Piece::Trailers) => read_trailers(partial, input, limits),
        Err(error) => Err(error),
    };
    let section = match section {
        Ok(Section::More) => return Part::More,
        Ok(section) => section,
        Err(error) => {
            partial.clear();
            *input = &[];
            return Part::Error(error);
        }
    };
    *body = Decoder::new(Body::Empty);
    match section {
        Section::Complete(fields) => Part::Trailers(fields),
        Section::InBuffer => Part::Trailers(Fields::from_bytes(partial.bytes())),
        Section::Empty | Section::More => {
            partial.clear();
            Part::End
        }
    }
}

/// What [`read_trailers`] found.
enum Section<'i> {
    /// The section is incomplete and the input used up.
    More,
    /// No fields.
    Empty,
    Complete(Fields<'i>),
    /// Complete, in the buffer, beginning with its first byte.
    InBuffer,
}

/// Reads the trailer section from `input`, or into `partial` while it is incomplete.
fn read_trailers<'i>(partial: &mut Partial, input: &mut &'i [u8], limits: &Limits) -> Result<Section<'i>, ParseError> {
    let bytes = *input;
    if bytes.is_empty() {
        return Ok(Section::More);
    }
    if partial.is_none()
        && let Some((fields, end)) = parse_trailers(bytes, limits)?
    {
        *input = &bytes[end..];
        return Ok(if fields.is_empty() { Section::Empty } else { Section::Complete(fields) });
    }
    let before = partial.append(bytes, limits.trailers);
    let Some((fields, end)) = parse_trailers(partial.bytes(), limits)? else {
        *input = &[];
        return Ok(Section::More);
    };
    *input = bytes.get(end.saturating_sub(before)..).unwrap_or_default();
    Ok(if fields.is_empty() { Section::Empty } else { Section::InBuffer })
}

/// Returns the fields and the length of the section. Considers only the first [`Limits::trailers`] bytes.
fn parse_trailers<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Option<(Fields<'a>, usize)>, ParseError> {
    let window = bytes.get(..limits.trailers).unwrap_or(bytes);
    if window.starts_with(b"\r\n") {
        return Ok(Some((Fields::default(), 2)));
    }
    let mut slots = [EMPTY_HEADER; MAX_FIELDS];
    let slots = &mut slots[..limits.fields.min(MAX_FIELDS)];
    let (end, headers) = match httparse::parse_headers(window, slots) {
        Ok(Status::Complete(parsed)) => parsed,
        Ok(Status::Partial) if window.len() < limits.trailers => return Ok(None),
        Ok(Status::Partial) => return Err(ParseError::TrailersTooLong),
        Err(error) => return Err(from_httparse(error)),
    };
    let section = &window[..end];
    if !fields::ends_lines_in_crlf(section, headers) {
        return Err(ParseError::LineEnding);
    }
    // RFC 9110, 6.5.1: framing and routing fields are not allowed here. Ignoring them would be permitted; they are rejected
    // because they are a means of request smuggling.
    if FramingHeaders::gather(headers)?.is_any_set() {
        return Err(ParseError::TrailerForbidden);
    }
    Ok(Some((Fields::of(section, headers), end)))
}
