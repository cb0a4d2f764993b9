//! The trailer section of a chunked body (RFC 9112, section 7.1.2): checked, bounded, handed on apart from the head's fields.

use httparse::{EMPTY_HEADER, Status};

use super::{framing_headers::FramingHeaders, from_httparse, partial::Partial};
use crate::http1::{Fields, Limits, MAX_FIELDS, ParseError, fields};

/// What has been read of a trailer section.
pub(crate) enum Section<'i> {
    /// Not all of it: the input is used up.
    More,
    /// All of it, and there is none.
    Empty,
    /// All of it in one piece.
    Whole(Fields<'i>),
    /// All of it, kept in the buffer: see [`view`].
    Kept,
}

/// Reads the section from `input`, or into `partial` if its end has not come.
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
        return Ok(if fields.is_empty() { Section::Empty } else { Section::Whole(fields) });
    }
    let before = partial.append(bytes, limits.trailers);
    match parse(partial.bytes(), limits)?.map(|(fields, end)| (fields.is_empty(), end)) {
        None => {
            *input = &[];
            Ok(Section::More)
        }
        Some((is_empty, end)) => {
            *input = bytes.get(end.saturating_sub(before)..).unwrap_or_default();
            if !is_empty {
                return Ok(Section::Kept);
            }
            partial.clear();
            Ok(Section::Empty)
        }
    }
}

/// The fields in a buffer that [`read`] has found to hold a whole section.
pub(crate) fn view(kept: &[u8]) -> Fields<'_> {
    // Fields begin at the first byte. What may follow the section in the buffer is behind its empty line.
    Fields::from_first_line(kept)
}

/// The fields, and where the section ends. Only the first [`Limits::trailers`] bytes are looked at.
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
    // RFC 9110, 6.5.1: fields that frame or route have no place here. To ignore them is allowed; whoever sends them
    // hopes that somebody does not.
    if FramingHeaders::gather(headers)?.has_any_of_a_head() {
        return Err(ParseError::TrailerForbidden);
    }
    Ok(Some((Fields::of(section, headers), end)))
}
