//! Encoding of heads, bodies and trailer sections.

use super::{EncodeError, parse::scan};

pub(super) mod body_writer;
pub(super) mod date;
pub(super) mod request;
pub(super) mod response;
pub(super) mod status;

fn is_framing(name: &str) -> bool {
    ["content-length", "transfer-encoding", "connection"].iter().any(|framing| name.eq_ignore_ascii_case(framing))
}

/// Appends `name: value CRLF`, or nothing. Rejects CR, LF and NUL, which prevents field injection (RFC 9110, 5.5).
fn write_field(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), EncodeError> {
    if name.is_empty() || scan::token(name.as_bytes()) < name.len() {
        return Err(EncodeError::FieldName);
    }
    if scan::text(value) < value.len() && value.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(EncodeError::FieldValue);
    }
    out.reserve(name.len() + value.len() + 4);
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// As [`write_field`], for a field of the caller, which may not frame the message.
fn write_user_field(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), EncodeError> {
    if is_framing(name) { Err(EncodeError::FieldReserved) } else { write_field(out, name, value) }
}

#[inline]
fn write_content_length(out: &mut Vec<u8>, length: u64) {
    out.extend_from_slice(b"Content-Length: ");
    write_decimal(out, length);
    out.extend_from_slice(b"\r\n");
}

#[inline]
fn write_decimal(out: &mut Vec<u8>, mut number: u64) {
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
