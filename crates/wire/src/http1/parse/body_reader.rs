//! What follows a head, for both ends: the body, and after a chunked one its trailer section (RFC 9112, 7.1.2), which is
//! validated, bounded, and kept apart from the fields of the head.

use httparse::{EMPTY_HEADER, Header, Status};

use super::body::{Decoder, Piece};
use super::{Partial, framing_headers::FramingHeaders, from_httparse, lenient};
use crate::http1::{Body, Fields, Leniencies, Limits, MAX_FIELDS, ParseError, fields};

/// The next part of a message.
pub(crate) enum Part<'a> {
    /// Bytes of the body, at least one.
    Data(&'a [u8]),
    /// A trailer section with at least one field.
    Trailers(Fields<'a>),
    End,
    /// The input is used up.
    More,
    /// The connection cannot be used any more; the input is cleared.
    Error(ParseError),
}

/// Takes the next part from `input`. `partial` collects an incomplete trailer section; a head that it still holds has been
/// processed and is dropped. What is accepted leniently is added to `accepted`; without, nothing is, as in requests. After an
/// error `partial` holds the first bytes at fault.
#[inline]
pub(crate) fn next<'c, 'i: 'c>(
    body: &mut Decoder,
    partial: &'c mut Partial,
    input: &mut &'i [u8],
    limits: &Limits,
    mut accepted: Option<&mut Leniencies>,
) -> Part<'c> {
    if !partial.is_none() && !body.is_in_trailers() {
        partial.clear();
    }
    let before = *input;
    let section = match body.next(input, limits, accepted.as_deref_mut()) {
        Ok(Piece::Data(data)) => return Part::Data(data),
        Ok(Piece::End) => return Part::End,
        Ok(Piece::More) => return Part::More,
        Ok(Piece::Trailers) => read_trailers(partial, input, limits, accepted),
        Err(error) => Err(error),
    };
    let section = match section {
        Ok(Section::More) => return Part::More,
        Ok(section) => section,
        Err(error) => {
            if partial.is_none() {
                partial.append(line_before(before, before.len() - input.len()), SHOWN);
            }
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

/// Most bytes at fault that are kept.
const SHOWN: usize = 256;

/// The bytes from the beginning of the line that byte `end` of `bytes` follows.
fn line_before(bytes: &[u8], end: usize) -> &[u8] {
    let before = bytes.get(..end.saturating_sub(1)).unwrap_or_default();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.get(start..).unwrap_or_default()
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
fn read_trailers<'i>(
    partial: &mut Partial,
    input: &mut &'i [u8],
    limits: &Limits,
    accepted: Option<&mut Leniencies>,
) -> Result<Section<'i>, ParseError> {
    let bytes = *input;
    if bytes.is_empty() {
        return Ok(Section::More);
    }
    if partial.is_none()
        && let Ok(Some((fields, end))) = parse_trailers(bytes, limits)
    {
        *input = &bytes[end..];
        return Ok(if fields.is_empty() { Section::Empty } else { Section::Complete(fields) });
    }
    let before = partial.append(bytes, limits.trailers);
    let parsed = match (parse_trailers(partial.bytes(), limits), accepted) {
        (Err(_), Some(accepted)) => rewrite_trailers(partial, limits, accepted)?,
        (parsed, _) => parsed?.map(|(fields, end)| (fields.is_empty(), end)),
    };
    let Some((is_empty, end)) = parsed else {
        *input = &[];
        return Ok(Section::More);
    };
    *input = bytes.get(end.saturating_sub(before)..).unwrap_or_default();
    Ok(if is_empty { Section::Empty } else { Section::InBuffer })
}

/// Reads the section in `partial` leniently and writes it there in the usual form; returns whether it has no fields, and the
/// length that it had.
#[cold]
fn rewrite_trailers(
    partial: &mut Partial,
    limits: &Limits,
    accepted: &mut Leniencies,
) -> Result<Option<(bool, usize)>, ParseError> {
    let Some((section, end)) = lenient::trailers(partial.bytes(), limits, accepted)? else { return Ok(None) };
    let is_empty = Fields::from_bytes(&section).is_empty();
    partial.replace(section);
    Ok(Some((is_empty, end)))
}

/// Returns the fields and the length of the section. Considers only the first [`Limits::trailers`] bytes.
fn parse_trailers<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Option<(Fields<'a>, usize)>, ParseError> {
    let mut slots = [EMPTY_HEADER; MAX_FIELDS];
    match parse_trailers_in(&mut slots[..limits.fields.min(MAX_FIELDS)], bytes, limits) {
        Err(ParseError::TooManyFields) if limits.fields > MAX_FIELDS => {
            parse_trailers_in(&mut vec![EMPTY_HEADER; limits.fields], bytes, limits)
        }
        parsed => parsed,
    }
}

fn parse_trailers_in<'a>(
    slots: &mut [Header<'a>],
    bytes: &'a [u8],
    limits: &Limits,
) -> Result<Option<(Fields<'a>, usize)>, ParseError> {
    let window = bytes.get(..limits.trailers).unwrap_or(bytes);
    if window.starts_with(b"\r\n") {
        return Ok(Some((Fields::default(), 2)));
    }
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
