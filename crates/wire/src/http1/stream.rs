//! Writing what is common to requests and responses: field lines, and bodies that are sent piece by piece.

use super::{Refused, chunked::write_chunk, scan};

/// A body under way. Holds no buffer: each piece goes to whatever buffer is written next.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a body that is not ended leaves the peer waiting"]
pub struct Stream {
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// So many bytes to come.
    Sized(u64),
    Chunked,
    /// Ended by closing.
    Raw,
    /// No body goes with this message: HEAD, 204, 304.
    Silent,
}

impl Stream {
    pub(super) fn sized(length: u64) -> Self {
        Self { kind: Kind::Sized(length) }
    }

    pub(super) fn chunked() -> Self {
        Self { kind: Kind::Chunked }
    }

    pub(super) fn raw() -> Self {
        Self { kind: Kind::Raw }
    }

    pub(super) fn silent() -> Self {
        Self { kind: Kind::Silent }
    }

    /// Appends the next bytes of the body, as one chunk if it goes in chunks.
    ///
    /// # Errors
    /// [`Refused::BodyTooLong`] if more comes than was announced; nothing is written then.
    pub fn write(&mut self, out: &mut Vec<u8>, data: &[u8]) -> Result<(), Refused> {
        match &mut self.kind {
            Kind::Sized(left) => {
                let length = data.len() as u64;
                *left = left.checked_sub(length).ok_or(Refused::BodyTooLong(length.saturating_sub(*left)))?;
                out.extend_from_slice(data);
            }
            Kind::Chunked => write_chunk(out, data),
            Kind::Raw => out.extend_from_slice(data),
            Kind::Silent => {}
        }
        Ok(())
    }

    /// Ends the body.
    ///
    /// # Errors
    /// [`Refused::BodyTooShort`] if less came than was announced: then only closing the connection is honest.
    pub fn end(self, out: &mut Vec<u8>) -> Result<(), Refused> {
        self.end_with(out, &[])
    }

    /// Ends the body with trailer fields, which are left out where there are no chunks (RFC 9110, section 6.5).
    ///
    /// # Errors
    /// As [`Self::end`]; and if a trailer is malformed, or frames or routes (RFC 9110, section 6.5.1). Nothing is written then.
    pub fn end_with(self, out: &mut Vec<u8>, trailers: &[(&str, &[u8])]) -> Result<(), Refused> {
        match self.kind {
            Kind::Sized(0) | Kind::Raw | Kind::Silent => Ok(()),
            Kind::Sized(left) => Err(Refused::BodyTooShort(left)),
            Kind::Chunked => {
                let start = out.len();
                out.extend_from_slice(b"0\r\n");
                for (name, value) in trailers {
                    if is_framing(name) || name.eq_ignore_ascii_case("host") || name.eq_ignore_ascii_case("expect") {
                        out.truncate(start);
                        return Err(Refused::FieldReserved);
                    }
                    write_field(out, name, value).inspect_err(|_| out.truncate(start))?;
                }
                out.extend_from_slice(b"\r\n");
                Ok(())
            }
        }
    }
}

/// Whether the field is for the writer of the message alone to set.
pub(super) fn is_framing(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"].iter().any(|framing| name.eq_ignore_ascii_case(framing))
}

/// Appends `name: value CRLF`, or nothing. This is where field injection ends: no CR, LF or NUL comes past (RFC 9110, 5.5).
pub(super) fn write_field(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), Refused> {
    if name.is_empty() || scan::token(name.as_bytes()) < name.len() {
        return Err(Refused::FieldName);
    }
    if scan::text(value) < value.len() && value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(Refused::FieldValue);
    }
    out.reserve(name.len() + value.len() + 4);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Appends a number in decimal.
#[inline]
pub(super) fn write_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
