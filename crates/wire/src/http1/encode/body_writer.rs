use super::{is_framing, write_field};
use crate::http1::EncodeError;

/// Writes a body in pieces. Holds no buffer: each piece is appended to the one that is passed.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the peer waits until the body is ended"]
pub struct BodyWriter(pub(super) Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bytes left.
    Sized(u64),
    Chunked,
    UntilClose,
    /// Discards the body: HEAD, 204, 205, 304.
    Silent,
}

impl BodyWriter {
    /// Appends the next bytes of the body, as one chunk if it is chunked.
    ///
    /// # Errors
    /// [`EncodeError::BodyTooLong`] if the body exceeds its announced length; nothing is written then.
    pub fn write(&mut self, out: &mut Vec<u8>, data: &[u8]) -> Result<(), EncodeError> {
        match &mut self.0 {
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
    /// [`EncodeError::BodyTooShort`] if it is shorter than announced: close the connection.
    pub fn end(self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.end_with(out, &[])
    }

    /// Ends the body with trailer fields, which are left out without chunks (RFC 9110, 6.5).
    ///
    /// # Errors
    /// As [`Self::end`]; and if a trailer is malformed, or a framing or routing field (RFC 9110, 6.5.1). Nothing is written
    /// then.
    pub fn end_with(self, out: &mut Vec<u8>, trailers: &[(&str, &[u8])]) -> Result<(), EncodeError> {
        match self.0 {
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

/// Appends one chunk. Skips empty data, because an empty chunk would end the body.
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
