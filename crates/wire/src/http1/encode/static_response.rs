use super::date::DateHeader;
use super::response::{self, Content};
use super::{status, write_content_length, write_user_field};
use crate::http1::{EncodeError, Method, Persistence, RequestMeta};

/// A response rendered in advance, except for `Date` and `Connection`.
///
/// Writes the same bytes as [`Response`](crate::http1::Response).
#[derive(Debug, Clone)]
pub struct StaticResponse {
    status: u16,
    line: Vec<u8>,
    /// Fields, length, empty line and body: a response in HTTP/1.1 that keeps the connection is one copy of this.
    rest: Vec<u8>,
    /// Where in `rest` the caller's fields end, and the framing field begins.
    framing: usize,
    /// Where in `rest` the head ends, without the empty line.
    head: usize,
}

impl StaticResponse {
    /// Renders it.
    ///
    /// # Errors
    /// As [`Response::new`](crate::http1::Response::new) and [`Response::field`](crate::http1::Response::field).
    pub fn new(status: u16, fields: &[(&str, &[u8])], body: &[u8]) -> Result<Self, EncodeError> {
        if !(200..=999).contains(&status) {
            return Err(EncodeError::Status(status));
        }
        let (mut line, mut rest) = (Vec::new(), Vec::new());
        status::write_line(&mut line, status);
        for (name, value) in fields {
            write_user_field(&mut rest, name, value)?;
        }
        let framing = rest.len();
        let content = Content::of(status, Method::Get);
        let body = if content == Content::Full { body } else { &[] };
        if content != Content::None {
            write_content_length(&mut rest, body.len() as u64);
        }
        let head = rest.len();
        rest.extend_from_slice(b"\r\n");
        rest.extend_from_slice(body);
        Ok(Self { status, line, rest, framing, head })
    }

    /// Appends it to `out`.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, request: RequestMeta, date: &DateHeader) -> Persistence {
        out.reserve(self.line.len() + date.lines().len() + self.rest.len() + 32);
        out.extend_from_slice(&self.line);
        out.extend_from_slice(date.lines());
        let connection = response::connection(request);
        if connection == b"\r\n" && !matches!(request.method, Method::Head | Method::Connect) {
            out.extend_from_slice(&self.rest);
            return Persistence::Keep;
        }
        self.write_rest(out, request, connection)
    }

    fn write_rest(&self, out: &mut Vec<u8>, mut request: RequestMeta, mut connection: &[u8]) -> Persistence {
        let mut head = &self.rest[..self.head];
        let content = Content::of(self.status, request.method);
        if request.method == Method::Connect && self.status < 300 {
            request.keep_alive = false;
            connection = response::connection(request);
            head = &self.rest[..self.framing];
        }
        out.extend_from_slice(head);
        out.extend_from_slice(connection);
        if content == Content::Full {
            out.extend_from_slice(&self.rest[self.head + 2..]);
        }
        Persistence::keep_if(request.keep_alive)
    }
}
