//! A response rendered once and sent a million times: all but `Date` and `Connection` is known beforehand.

use super::{date::DateHeader, is_framing, response, status, write_decimal, write_field};
use crate::http1::{EncodeError, Persistence, RequestMeta};

/// A whole response, rendered. Byte for byte what [`Response`](super::Response) would write.
#[derive(Debug, Clone)]
pub struct StaticResponse {
    line: Vec<u8>,
    /// Fields, length and, if the connection is kept in HTTP/1.1, all that follows: then one copy does.
    rest: Vec<u8>,
    /// Where in `rest` the fields end.
    fields: usize,
    /// Where in `rest` the body begins.
    body: usize,
}

impl StaticResponse {
    /// Renders it.
    ///
    /// # Errors
    /// As [`Response::new`](super::Response::new) and [`Response::field`](super::Response::field).
    pub fn new(status: u16, fields: &[(&str, &[u8])], body: &[u8]) -> Result<Self, EncodeError> {
        if !(200..=999).contains(&status) {
            return Err(EncodeError::Status(status));
        }
        let (mut line, mut rest) = (Vec::new(), Vec::new());
        status::write_line(&mut line, status);
        for (name, value) in fields {
            if is_framing(name) {
                return Err(EncodeError::FieldReserved);
            }
            write_field(&mut rest, name, value)?;
        }
        let body = if matches!(status, 204 | 205 | 304) { &[] } else { body };
        if !matches!(status, 204 | 304) {
            rest.extend_from_slice(b"Content-Length: ");
            write_decimal(&mut rest, body.len() as u64);
            rest.extend_from_slice(b"\r\n");
        }
        let fields = rest.len();
        rest.extend_from_slice(b"\r\n");
        let start = rest.len();
        rest.extend_from_slice(body);
        Ok(Self { line, rest, fields, body: start })
    }

    /// Appends it.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, exchange: RequestMeta, stamp: &DateHeader) -> Persistence {
        out.reserve(self.line.len() + stamp.lines().len() + self.rest.len() + 32);
        out.extend_from_slice(&self.line);
        out.extend_from_slice(stamp.lines());
        let end_of_head = response::connection(exchange);
        if end_of_head == b"\r\n" && !exchange.is_head {
            out.extend_from_slice(&self.rest);
        } else {
            out.extend_from_slice(&self.rest[..self.fields]);
            out.extend_from_slice(end_of_head);
            if !exchange.is_head {
                out.extend_from_slice(&self.rest[self.body..]);
            }
        }
        Persistence::keep_if(exchange.keep_alive)
    }
}
