//! Responses, appended to a buffer, so that those to pipelined requests go out with one write.
//!
//! The writer alone frames a message: it knows the length, whether a body may go with this status and method, and whether
//! the connection is kept. A caller's fields can neither change the framing nor begin another line.

use super::body_writer::{BodyWriter, Kind};
use super::date::DateHeader;
use super::status::{self, reason};
use super::{write_content_length, write_user_field};
use crate::http1::{EncodeError, Method, ParseError, Persistence, RequestMeta, Version};

/// A response whose head is being written. Complete it with [`Self::body`], [`Self::sized`] or [`Self::stream`].
#[derive(Debug)]
#[must_use = "an unfinished response leaves half a head in the buffer"]
pub struct Response<'o> {
    out: &'o mut Vec<u8>,
    /// Where the response begins in `out`; a rejected field truncates to here.
    start: usize,
    request: RequestMeta,
    status: u16,
}

/// How much of a body goes with a status and method.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Framing fields and body.
    Full,
    /// The framing fields of the body, without it: HEAD (RFC 9110, 9.3.2).
    HeadOnly,
    /// `Content-Length: 0`: 205 (RFC 9110, 15.3.6).
    Zero,
    /// Neither framing fields nor body: 204 and 304 (RFC 9110, 8.6), 2xx to CONNECT (RFC 9110, 9.3.6).
    None,
}

impl Content {
    #[inline]
    fn of(status: u16, method: Method) -> Self {
        match status {
            204 | 304 => Self::None,
            200..=299 if method == Method::Connect => Self::None,
            205 => Self::Zero,
            _ if method == Method::Head => Self::HeadOnly,
            _ => Self::Full,
        }
    }
}

impl<'o> Response<'o> {
    /// Begins a response: status line, `Server` and `Date`.
    ///
    /// # Errors
    /// If `status` is not within 200 to 999.
    pub fn new(
        out: &'o mut Vec<u8>,
        mut request: RequestMeta,
        date: &DateHeader,
        status: u16,
    ) -> Result<Self, EncodeError> {
        if !(200..=999).contains(&status) {
            return Err(EncodeError::Status(status));
        }
        if request.method == Method::Connect && status < 300 {
            // What follows would belong to a tunnel, which is not supported.
            request.keep_alive = false;
        }
        let start = out.len();
        status::write_line(out, status);
        out.extend_from_slice(date.lines());
        Ok(Self { out, start, request, status })
    }

    /// Appends a field. Repeated names are up to the caller, `Date` and `Server` of the [`DateHeader`] included.
    ///
    /// # Errors
    /// If the name is not a token, the value holds a control character (such as CR, LF and NUL), or the field frames the
    /// message. The buffer is then as it was before the response.
    pub fn field(self, name: &str, value: &[u8]) -> Result<Self, EncodeError> {
        let written = write_user_field(self.out, name, value).inspect_err(|_| self.out.truncate(self.start));
        written.map(|()| self)
    }

    /// Closes the connection after this response.
    pub fn close(mut self) -> Self {
        self.request.keep_alive = false;
        self
    }

    /// Completes the response with its body, which is left out where none may be sent: HEAD, 204, 205, 304.
    pub fn body(mut self, body: &[u8]) -> Persistence {
        let content = Content::of(self.status, self.request.method);
        self.write_length(content, body.len() as u64);
        let (out, persistence) = self.end_head();
        if content == Content::Full {
            out.extend_from_slice(body);
        }
        persistence
    }

    /// Completes the head of a response whose body, of `length` bytes, is written in pieces.
    pub fn sized(mut self, length: u64) -> (BodyWriter, Persistence) {
        let content = Content::of(self.status, self.request.method);
        self.write_length(content, length);
        let kind = if content == Content::Full { Kind::Sized(length) } else { Kind::Silent };
        (BodyWriter(kind), self.end_head().1)
    }

    /// Completes the head of a response whose body has an unknown length: it is sent in chunks, or, to HTTP/1.0, until the
    /// connection closes (RFC 9112, 6.1).
    pub fn stream(mut self) -> (BodyWriter, Persistence) {
        let content = Content::of(self.status, self.request.method);
        let kind = match (content, self.request.version) {
            (Content::Zero | Content::None, _) => {
                self.write_length(content, 0);
                Kind::Silent
            }
            (_, Version::Http10) => {
                self.request.keep_alive = false;
                Kind::UntilClose
            }
            (_, Version::Http11) => {
                self.out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
                Kind::Chunked
            }
        };
        let kind = if content == Content::Full { kind } else { Kind::Silent };
        (BodyWriter(kind), self.end_head().1)
    }

    /// Appends an interim response: `100 Continue`, 102 or 103. The final response must follow.
    ///
    /// # Errors
    /// If the client speaks HTTP/1.0, which has none (RFC 9110, 15.2), the status is not 1xx or is 101, or a field is
    /// rejected as in [`Self::field`]. Nothing is written then.
    pub fn interim(
        out: &mut Vec<u8>,
        request: RequestMeta,
        status: u16,
        fields: &[(&str, &[u8])],
    ) -> Result<(), EncodeError> {
        if request.version == Version::Http10 {
            return Err(EncodeError::InterimToHttp10);
        }
        if !(100..=199).contains(&status) || status == 101 {
            return Err(EncodeError::Status(status));
        }
        let start = out.len();
        status::write_line(out, status);
        for (name, value) in fields {
            write_user_field(out, name, value).inspect_err(|_| out.truncate(start))?;
        }
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Appends the response to a request that could not be parsed: its status, and a line of text with the reason.
    pub fn error(out: &'o mut Vec<u8>, date: &DateHeader, error: ParseError) -> Persistence {
        let status = error.status();
        let body = format!("{status} {}: {error}\n", reason(status));
        Self::text(out, RequestMeta::UNPARSED, date, status, body.as_bytes())
    }

    /// Appends a response of plain text; nothing if `status` is not within 200 to 999.
    pub fn text(
        out: &'o mut Vec<u8>,
        request: RequestMeta,
        date: &DateHeader,
        status: u16,
        text: &[u8],
    ) -> Persistence {
        let head = Self::new(out, request, date, status).and_then(|head| head.field("Content-Type", b"text/plain"));
        head.map_or(Persistence::Close, |head| head.body(text))
    }

    #[inline]
    fn write_length(&mut self, content: Content, length: u64) {
        if content != Content::None {
            write_content_length(self.out, if content == Content::Zero { 0 } else { length });
        }
    }

    #[inline]
    fn end_head(self) -> (&'o mut Vec<u8>, Persistence) {
        self.out.extend_from_slice(connection_field(self.request));
        (self.out, Persistence::keep_if(self.request.keep_alive))
    }
}

/// A response rendered in advance, except for `Date` and `Connection`.
///
/// Writes the same bytes as [`Response`].
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
    /// As [`Response::new`] and [`Response::field`].
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
        let connection = connection_field(request);
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
            connection = connection_field(request);
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

/// The `Connection` field, where it is not the default of the client's version, and the empty line (RFC 9112, 9.3, 9.6).
#[inline]
fn connection_field(request: RequestMeta) -> &'static [u8] {
    match (request.keep_alive, request.version) {
        (true, Version::Http11) => b"\r\n",
        // Required by `ab -k`.
        (true, Version::Http10) => b"Connection: keep-alive\r\n\r\n",
        (false, _) => b"Connection: close\r\n\r\n",
    }
}
