//! Responses, appended to a buffer: several of them, to pipelined requests, go out with one write.
//!
//! The writer alone frames a message: it knows the length, whether a body may go with this status and method, and whether
//! the connection stays. What the caller adds can neither break the framing nor start another line.

use super::{
    body_writer::BodyWriter, date::DateHeader, is_framing, status, status::reason, write_decimal, write_field,
};
use crate::http1::{EncodeError, ParseError, Persistence, RequestMeta, Version};

/// A response whose head is being written. Finish it with [`Self::body`], [`Self::sized`] or [`Self::stream`].
#[derive(Debug)]
#[must_use = "an unfinished response leaves half a head in the buffer"]
pub struct Response<'o> {
    out: &'o mut Vec<u8>,
    /// Where it begins, to be taken back if a field is refused.
    start: usize,
    exchange: RequestMeta,
    status: u16,
}

impl<'o> Response<'o> {
    /// Begins a response: status line, `Server` and `Date`.
    ///
    /// # Errors
    /// If `status` is not within 200 to 999.
    pub fn new(
        out: &'o mut Vec<u8>,
        exchange: RequestMeta,
        stamp: &DateHeader,
        status: u16,
    ) -> Result<Self, EncodeError> {
        if !(200..=999).contains(&status) {
            return Err(EncodeError::Status(status));
        }
        let start = out.len();
        status::write_line(out, status);
        out.extend_from_slice(stamp.lines());
        Ok(Self { out, start, exchange, status })
    }

    /// Appends a field. Repeated names are the caller's to avoid, `Date` and `Server` of the [`DateHeader`] among them.
    ///
    /// # Errors
    /// If the name is no token, the value holds a control character (CR, LF and NUL among them), or the field frames the
    /// message. The buffer is then as it was before the response began.
    pub fn field(self, name: &str, value: &[u8]) -> Result<Self, EncodeError> {
        let written =
            if is_framing(name) { Err(EncodeError::FieldReserved) } else { write_field(self.out, name, value) };
        match written {
            Ok(()) => Ok(self),
            Err(refused) => {
                self.out.truncate(self.start);
                Err(refused)
            }
        }
    }

    /// Has the connection closed behind this response.
    pub fn close(mut self) -> Self {
        self.exchange.keep_alive = false;
        self
    }

    /// Finishes with the whole body. With HEAD, 204, 205 and 304 it is left out.
    pub fn body(self, body: &[u8]) -> Persistence {
        let silent = self.is_silent();
        let (out, after) = self.end_sized(body.len() as u64);
        if !silent {
            out.extend_from_slice(body);
        }
        after
    }

    /// Finishes the head of a response whose body, of `length` bytes, is sent as a stream.
    pub fn sized(self, length: u64) -> (BodyWriter, Persistence) {
        let stream = if self.is_silent() { BodyWriter::silent() } else { BodyWriter::sized(length) };
        (stream, self.end_sized(length).1)
    }

    /// Finishes the head of a response whose body is as long as it will be: in chunks, or, since HTTP/1.0 knows none, until
    /// the connection closes (RFC 9112, section 6.1).
    pub fn stream(mut self) -> (BodyWriter, Persistence) {
        if !self.has_content() {
            let after = self.end_head();
            return (BodyWriter::silent(), after);
        }
        let stream = match self.exchange.version {
            Version::Http10 => {
                self.exchange.keep_alive = false;
                BodyWriter::raw()
            }
            Version::Http11 => {
                self.out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
                BodyWriter::chunked()
            }
        };
        let stream = if self.exchange.is_head { BodyWriter::silent() } else { stream };
        (stream, self.end_head())
    }

    /// Appends an interim response: `100 Continue`, which lets a client begin its body, or 102, or 103. Not a final one:
    /// that is still owed.
    ///
    /// # Errors
    /// If the client speaks HTTP/1.0, which knows none (RFC 9110, section 15.2), the status is not 1xx or is 101, or a field
    /// is refused as in [`Self::field`]. Nothing is written then.
    pub fn interim(
        out: &mut Vec<u8>,
        exchange: RequestMeta,
        status: u16,
        fields: &[(&str, &[u8])],
    ) -> Result<(), EncodeError> {
        if exchange.version == Version::Http10 {
            return Err(EncodeError::InterimToHttp10);
        }
        if !(100..=199).contains(&status) || status == 101 {
            return Err(EncodeError::Status(status));
        }
        let start = out.len();
        status::write_line(out, status);
        for (name, value) in fields {
            let written =
                if is_framing(name) { Err(EncodeError::FieldReserved) } else { write_field(out, name, value) };
            written.inspect_err(|_| out.truncate(start))?;
        }
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Appends the answer to a fault: its status, and a line of text that says what was wrong.
    pub fn error(out: &'o mut Vec<u8>, stamp: &DateHeader, fault: ParseError) -> Persistence {
        let status = fault.status();
        let body = format!("{status} {}: {fault}\n", reason(status));
        // What the client speaks is unknown. To HTTP/1.0 this reads the same.
        let exchange = RequestMeta { version: Version::Http11, is_head: false, keep_alive: false };
        match Self::new(out, exchange, stamp, status).and_then(|response| response.field("Content-Type", b"text/plain"))
        {
            Ok(response) => response.body(body.as_bytes()),
            Err(_) => Persistence::Close,
        }
    }

    /// RFC 9110, 6.4.1: with these no content goes, and RFC 9110, 8.6, forbids or discourages its length.
    #[inline]
    fn has_content(&self) -> bool {
        !matches!(self.status, 204 | 304)
    }

    #[inline]
    fn is_silent(&self) -> bool {
        self.exchange.is_head || matches!(self.status, 204 | 205 | 304)
    }

    #[inline]
    fn end_sized(self, length: u64) -> (&'o mut Vec<u8>, Persistence) {
        if self.has_content() {
            // RFC 9110, 15.3.6: 205 says that there is nothing.
            let length = if self.status == 205 { 0 } else { length };
            self.out.extend_from_slice(b"Content-Length: ");
            write_decimal(self.out, length);
            self.out.extend_from_slice(b"\r\n");
        }
        let Self { out, exchange, .. } = self;
        let after = end_head(out, exchange);
        (out, after)
    }

    fn end_head(self) -> Persistence {
        end_head(self.out, self.exchange)
    }
}

/// The empty line, and before it what is to be said about the connection (RFC 9112, sections 9.3 and 9.6): the default of
/// the client's version goes without saying.
#[inline]
fn end_head(out: &mut Vec<u8>, exchange: RequestMeta) -> Persistence {
    out.extend_from_slice(connection(exchange));
    Persistence::keep_if(exchange.keep_alive)
}

/// The line about the connection, if one is needed, and the empty line.
#[inline]
pub(crate) fn connection(exchange: RequestMeta) -> &'static [u8] {
    match (exchange.keep_alive, exchange.version) {
        (true, Version::Http11) => b"\r\n",
        // What `ab -k` waits for.
        (true, Version::Http10) => b"Connection: keep-alive\r\n\r\n",
        (false, _) => b"Connection: close\r\n\r\n",
    }
}
