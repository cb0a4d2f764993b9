//! Reads response heads and trailer sections that the strict parser has refused, as far as RFC 9110 and 9112 let a user agent
//! accept them, and writes them in the usual form: lines end in CRLF, folded lines are joined, no line has white space before
//! its colon, no CR is within a line.
//!
//! Invariants:
//! - Reads line by line, so what it says of a prefix it says of the whole: incomplete, or the same error.
//! - Whatever it accepts that the strict parser refuses is noted as a [`Leniency`].

use super::framing_headers::FramingHeaders;
use super::lenient_framing;
use crate::http1::fields::is_token;
use crate::http1::{Body, Fields, Leniencies, Leniency, Limits, ParseError, Persistence, Version};
use std::ops::Range;

/// A head in the usual form, and what was decided of it.
pub(crate) struct Rewritten {
    /// The reason phrase, then the field lines.
    pub bytes: Vec<u8>,
    /// Where it ended in the bytes that were read.
    pub end: usize,
    pub status: u16,
    pub version: Version,
    /// The reason phrase in `bytes`.
    pub reason: Range<usize>,
    pub body: Body,
    pub persistence: Persistence,
    pub accepted: Leniencies,
}

struct StatusLine<'a> {
    version: Version,
    status: u16,
    reason: &'a [u8],
}

/// Reads a head; `None` if it is incomplete. Considers only the first [`Limits::head`] bytes.
pub(crate) fn head(bytes: &[u8], to_head: bool, limits: &Limits) -> Result<Option<Rewritten>, ParseError> {
    let window = bytes.get(..limits.head).unwrap_or(bytes);
    let incomplete = || if window.len() < limits.head { Ok(None) } else { Err(ParseError::HeadTooLong) };
    let mut accepted = Leniencies::default();
    let mut lines = Lines { bytes: window, at: 0 };
    let line = loop {
        match lines.next() {
            Some(Line { text: [], .. }) => accepted.insert(Leniency::BlankLine),
            Some(Line { text, is_bare }) => {
                note(&mut accepted, is_bare, Leniency::BareLf);
                let line = status_line(text, &mut accepted)?;
                break line.ok_or(ParseError::StatusLine)?;
            }
            None => {
                status_line(lines.rest(), &mut accepted)?;
                return incomplete();
            }
        }
    };
    let mut out: Vec<u8> = line.reason.iter().map(|byte| if *byte == b'\r' { b' ' } else { *byte }).collect();
    let reason = 0..out.len();
    let Some(block) = fields(&mut lines, &mut out, limits.fields, &mut accepted)? else { return incomplete() };
    let fields = Fields::from_bytes(out.get(block.clone()).unwrap_or_default());
    let announced = lenient_framing::of(fields, line.version, &mut accepted)?;
    let has_body = !to_head && !matches!(line.status, 100..=199 | 204 | 304);
    // RFC 9112, 6.3, rules 1 and 8.
    let body = if has_body { announced.body.unwrap_or(Body::UntilClose) } else { Body::Empty };
    if matches!(body, Body::Sized(length) if length > limits.body) {
        return Err(ParseError::BodyTooLong);
    }
    let keep = persists(fields, line.version) && !announced.closes && body != Body::UntilClose;
    let (status, version, persistence) = (line.status, line.version, Persistence::keep_if(keep));
    Ok(Some(Rewritten { end: lines.at, bytes: out, status, version, reason, body, persistence, accepted }))
}

fn persists(fields: Fields<'_>, version: Version) -> bool {
    let mut framing = FramingHeaders::default();
    for value in fields.all("connection") {
        framing.connection(value);
    }
    framing.persists(version)
}

/// Reads a trailer section in the same way: its fields and its length. Considers only the first [`Limits::trailers`] bytes.
pub(crate) fn trailers(
    bytes: &[u8],
    limits: &Limits,
    accepted: &mut Leniencies,
) -> Result<Option<(Vec<u8>, usize)>, ParseError> {
    let window = bytes.get(..limits.trailers).unwrap_or(bytes);
    let (mut lines, mut out, mut found) = (Lines { bytes: window, at: 0 }, Vec::new(), Leniencies::default());
    match fields(&mut lines, &mut out, limits.fields, &mut found)? {
        Some(_) => {
            // RFC 9110, 6.5.1: such fields do not take effect here.
            let frames = |name: &str| lenient_framing::NAMES.iter().any(|framing| framing.eq_ignore_ascii_case(name));
            let is_framing = Fields::from_bytes(&out).iter().any(|field| frames(field.name));
            note(&mut found, is_framing, Leniency::TrailerFraming);
            accepted.add(found);
            Ok(Some((out, lines.at)))
        }
        None if window.len() < limits.trailers => Ok(None),
        None => Err(ParseError::TrailersTooLong),
    }
}

fn note(accepted: &mut Leniencies, happened: bool, rule: Leniency) {
    if happened {
        accepted.insert(rule);
    }
}

/// The lines from `at` on.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
}

struct Line<'a> {
    /// Without its end.
    text: &'a [u8],
    /// Whether it ended in LF without CR.
    is_bare: bool,
}

impl<'a> Lines<'a> {
    fn rest(&self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.strip_suffix(b"\r").unwrap_or(rest)
    }

    /// The next complete line. RFC 9112, 2.2: LF ends it, a CR before is ignored.
    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|byte| *byte == b'\n')?;
        self.at += length + 1;
        let line = &rest[..length];
        let text = line.strip_suffix(b"\r");
        Some(Line { text: text.unwrap_or(line), is_bare: text.is_none() })
    }
}

/// Parses a status line, or the beginning of one: `None` if it can still become one.
fn status_line<'a>(line: &'a [u8], accepted: &mut Leniencies) -> Result<Option<StatusLine<'a>>, ParseError> {
    let known = line.len().min(5);
    if line[..known] != b"HTTP/"[..known] {
        return Err(ParseError::StatusLine);
    }
    let version = match line[known..] {
        [] => return Ok(None),
        [b'2'..=b'9' | b'0', ..] => return Err(ParseError::VersionUnknown),
        [b'1'] | [b'1', b'.'] => return Ok(None),
        [b'1', b'.', b'0', ..] => Version::Http10,
        [b'1', b'.', b'1'..=b'9', ..] => Version::Http11,
        _ => return Err(ParseError::VersionSyntax),
    };
    note(accepted, line[7] > b'1', Leniency::MinorVersion);
    // RFC 9112, 4: white space may be read as the separator.
    let rest = &line[8..];
    let gap = rest.iter().take_while(|byte| is_blank(**byte)).count();
    match rest.first() {
        None => return Ok(None),
        Some(_) if gap == 0 => return Err(ParseError::VersionSyntax),
        Some(first) => note(accepted, gap > 1 || *first != b' ', Leniency::StatusLineSpace),
    }
    let rest = &rest[gap..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match (digits, rest.get(digits)) {
        (3, None | Some(b' ' | b'\t')) => (),
        (0..3, None) => return Ok(None),
        _ => return Err(ParseError::StatusLine),
    }
    let status = rest[..3].iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
    let reason = &rest[3..];
    note(accepted, reason.starts_with(b"\t"), Leniency::StatusLineSpace);
    // RFC 9110, 15: codes below 100 have no class.
    if status < 100 || reason.contains(&0) {
        return Err(ParseError::StatusLine);
    }
    note_text(reason, accepted);
    Ok(Some(StatusLine { version, status, reason: reason.trim_ascii() }))
}

/// Notes the control characters of a value or phrase.
fn note_text(text: &[u8], accepted: &mut Leniencies) {
    note(accepted, text.contains(&b'\r'), Leniency::BareCr);
    let is_control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\r');
    note(accepted, text.iter().any(is_control), Leniency::Control);
}

/// Reads field lines with the empty line that ends them, and appends them to `out`; returns where they are there.
fn fields(
    lines: &mut Lines<'_>,
    out: &mut Vec<u8>,
    most: usize,
    accepted: &mut Leniencies,
) -> Result<Option<Range<usize>>, ParseError> {
    let (start, mut count) = (out.len(), 0);
    while let Some(Line { text, is_bare }) = lines.next() {
        note(accepted, is_bare, Leniency::BareLf);
        if text.is_empty() {
            out.extend_from_slice(b"\r\n");
            return Ok(Some(start..out.len()));
        }
        let value = if is_blank(text[0]) {
            if count == 0 {
                return Err(ParseError::FieldName);
            }
            accepted.insert(Leniency::Folded);
            out.truncate(out.len() - 2);
            out.push(b' ');
            text
        } else {
            count += 1;
            let (name, value) = split(text, accepted)?;
            if count > most {
                return Err(ParseError::TooManyFields);
            }
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            value
        };
        if value.contains(&0) {
            return Err(ParseError::FieldValue);
        }
        note_text(value, accepted);
        // RFC 9112, 2.2: a bare CR is replaced with SP.
        out.extend(value.trim_ascii().iter().map(|byte| if *byte == b'\r' { b' ' } else { *byte }));
        out.extend_from_slice(b"\r\n");
    }
    Ok(None)
}

/// The name of a field line and the bytes behind its colon.
fn split<'a>(line: &'a [u8], accepted: &mut Leniencies) -> Result<(&'a [u8], &'a [u8]), ParseError> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or(ParseError::FieldName)?;
    let (before, value) = (&line[..colon], &line[colon + 1..]);
    let length = before.iter().take_while(|byte| is_token(**byte)).count();
    let (name, blank) = before.split_at(length);
    if name.is_empty() || !blank.iter().all(|byte| is_blank(*byte)) {
        return Err(ParseError::FieldName);
    }
    note(accepted, !blank.is_empty(), Leniency::NameSpace);
    Ok((name, value))
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}
