//! Writing what is common to requests and responses: field lines, and bodies that are sent piece by piece.

use super::{is_framing, write_field};
use crate::http1::EncodeError;

/// A body under way. Holds no buffer: each piece goes to whatever buffer is written next.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a body that is not ended leaves the peer waiting"]
pub struct BodyWriter {
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// So many bytes to come.
    Sized(u64),
    Chunked,
    /// Ended by closing.
    UntilClose,
    /// No body goes with this message: HEAD, 204, 304.
    Silent,
}

impl BodyWriter {
    pub(crate) fn sized(length: u64) -> Self {
        Self { kind: Kind::Sized(length) }
    }

    pub(crate) fn chunked() -> Self {
        Self { kind: Kind::Chunked }
    }

    pub(crate) fn until_close() -> Self {
        Self { kind: Kind::UntilClose }
    }

    pub(crate) fn silent() -> Self {
        Self { kind: Kind::Silent }
    }

    /// Appends the next bytes of the body, as one chunk if it goes in chunks.
    ///
    /// # Errors
    /// [`EncodeError::BodyTooLong`] if more comes than was announced; nothing is written then.
    pub fn write(&mut self, out: &mut Vec<u8>, data: &[u8]) -> Result<(), EncodeError> {
        match &mut self.kind {
            Kind::Sized(left) => {
                let length = data.len() as u64;
                *left = left.checked_sub(length).ok_or(EncodeError::BodyTooLong(length.saturating_sub(*left)))?;
                out.extend_from_slice(data);
            }
            Kind::Chunked => write_chunk(out, data),
            Kind::UntilClose => out.extend_from_slice(data),
            Kind::Silent => {}
        }
        Ok(())
    }

    /// Ends the body.
    ///
    /// # Errors
    /// [`EncodeError::BodyTooShort`] if less came than was announced: then only closing the connection is honest.
    pub fn end(self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.end_with(out, &[])
    }

    /// Ends the body with trailer fields, which are left out where there are no chunks (RFC 9110, section 6.5).
    ///
    /// # Errors
    /// As [`Self::end`]; and if a trailer is malformed, or frames or routes (RFC 9110, section 6.5.1). Nothing is written then.
    pub fn end_with(self, out: &mut Vec<u8>, trailers: &[(&str, &[u8])]) -> Result<(), EncodeError> {
        match self.kind {
            Kind::Sized(0) | Kind::UntilClose | Kind::Silent => Ok(()),
            Kind::Sized(left) => Err(EncodeError::BodyTooShort(left)),
            Kind::Chunked => {
                let start = out.len();
                out.extend_from_slice(b"0\r\n");
                for (name, value) in trailers {
                    if is_framing(name) || name.eq_ignore_ascii_case("host") || name.eq_ignore_ascii_case("expect") {
                        out.truncate(start);
                        return Err(EncodeError::FieldReserved);
                    }
                    write_field(out, name, value).inspect_err(|_| out.truncate(start))?;
                }
                out.extend_from_slice(b"\r\n");
                Ok(())
            }
        }
    }
}

/// Appends one chunk. Empty data is left out: an empty chunk would end the body.
fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    let mut digits = [0; 16];
    let mut at = digits.len();
    let mut left = data.len();
    while left > 0 {
        at -= 1;
        digits[at] = b"0123456789abcdef"[left & 15];
        left >>= 4;
    }
    out.reserve(data.len() + 20);
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}
