//! The trailer section of a chunked body (RFC 9112, 7.1.2): validated, bounded, and kept apart from the fields of the head.

use httparse::{EMPTY_HEADER, Status};

use super::{framing_headers::FramingHeaders, from_httparse, partial::Partial};
use crate::http1::{Fields, Limits, MAX_FIELDS, ParseError, fields};

/// What [`read`] found.
pub(crate) enum Section<'i> {
    /// The section is incomplete and the input used up.
    More,
    /// No fields.
    Empty,
    Complete(Fields<'i>),
    /// Complete, in the buffer, beginning with its first byte.
    InBuffer,
}

/// Reads the section from `input`, or into `partial` while it is incomplete.
pub(crate) fn read<'i>(
    partial: &mut Partial,
    input: &mut &'i [u8],
    limits: &Limits,
) -> Result<Section<'i>, ParseError> {
    let bytes = *input;
    if bytes.is_empty() {
        return Ok(Section::More);
    }
    if partial.is_none()
        && let Some((fields, end)) = parse(bytes, limits)?
    {
        *input = &bytes[end..];
        return Ok(if fields.is_empty() { Section::Empty } else { Section::Complete(fields) });
    }
    let before = partial.append(bytes, limits.trailers);
    let Some((fields, end)) = parse(partial.bytes(), limits)? else {
        *input = &[];
        return Ok(Section::More);
    };
    *input = bytes.get(end.saturating_sub(before)..).unwrap_or_default();
    Ok(if fields.is_empty() { Section::Empty } else { Section::InBuffer })
}

/// Returns the fields and the length of the section. Considers only the first [`Limits::trailers`] bytes.
fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Option<(Fields<'a>, usize)>, ParseError> {
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
