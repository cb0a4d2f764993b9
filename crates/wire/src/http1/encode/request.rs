use super::body_writer::{BodyWriter, Kind};
use super::{write_content_length, write_user_field};
use crate::http1::parse::{scan, target};
use crate::http1::{EncodeError, Method, Version};

/// A request to be written, with the fields that frame it derived from the body.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The method, any token but CONNECT.
    pub method: &'a str,
    /// The target: a path with its query, `*`, or, to a proxy, a whole URI. %-encoded.
    pub target: &'a str,
    /// `host[:port]` for the `Host` field.
    pub host: &'a str,
    /// Fields other than `Host`, `Connection` and those that frame the body.
    pub fields: &'a [(&'a str, &'a [u8])],
    /// The HTTP version.
    pub version: Version,
    /// Whether to keep the connection; sent only if it is not the version's default.
    pub keep_alive: bool,
}

/// What a [`Connection`](crate::http1::client::Connection) needs to know of a request to parse the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "pass it to `Connection::sent`, or the response counts as unsolicited"]
pub struct SentRequest {
    pub(crate) is_head: bool,
}

impl SentRequest {
    /// For a request with this method that was written by other means.
    pub fn new(method: &str) -> Self {
        Self { is_head: method == "HEAD" }
    }
}

impl<'a> Request<'a> {
    /// `GET target` in HTTP/1.1, keeping the connection.
    pub fn get(host: &'a str, target: &'a str) -> Self {
        Self { method: "GET", target, host, fields: &[], version: Version::Http11, keep_alive: true }
    }

    /// Appends the request with its body, if it has one.
    ///
    /// # Errors
    /// If a part is invalid or would change the framing. Nothing is written then.
    pub fn encode(&self, out: &mut Vec<u8>, body: Option<&[u8]>) -> Result<SentRequest, EncodeError> {
        // RFC 9110, 8.6: methods that usually have content send a length of 0.
        let has_content = matches!(Method::named(self.method), Method::Post | Method::Put | Method::Patch);
        let length = body.map(|body| body.len() as u64).or(has_content.then_some(0));
        let sent = self.head(out, length, false)?;
        out.extend_from_slice(body.unwrap_or_default());
        Ok(sent)
    }

    /// Appends the head of a request whose body, of `length` bytes, is written in pieces.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_sized(&self, out: &mut Vec<u8>, length: u64) -> Result<(SentRequest, BodyWriter), EncodeError> {
        Ok((self.head(out, Some(length), false)?, BodyWriter(Kind::Sized(length))))
    }

    /// Appends the head of a request whose body is sent in chunks.
    ///
    /// # Errors
    /// As [`Self::encode`]; and in HTTP/1.0.
    pub fn encode_chunked(&self, out: &mut Vec<u8>) -> Result<(SentRequest, BodyWriter), EncodeError> {
        if self.version == Version::Http10 {
            return Err(EncodeError::ChunksInHttp10);
        }
        Ok((self.head(out, None, true)?, BodyWriter(Kind::Chunked)))
    }

    fn head(&self, out: &mut Vec<u8>, length: Option<u64>, chunked: bool) -> Result<SentRequest, EncodeError> {
        if self.method.is_empty() || scan::token(self.method.as_bytes()) < self.method.len() || self.method == "CONNECT"
        {
            return Err(EncodeError::Method);
        }
        let has_body = chunked || length.is_some_and(|length| length > 0);
        if self.method == "TRACE" && has_body {
            return Err(EncodeError::TraceWithBody);
        }
        if !target::is_clean(self.target.as_bytes()) {
            return Err(EncodeError::Target);
        }
        if !target::is_host(self.host.as_bytes()) {
            return Err(EncodeError::Host);
        }
        let start = out.len();
        for part in [self.method, " ", self.target] {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(match self.version {
            Version::Http10 => b" HTTP/1.0\r\nHost: ",
            Version::Http11 => b" HTTP/1.1\r\nHost: ",
        });
        out.extend_from_slice(self.host.as_bytes());
        out.extend_from_slice(b"\r\n");
        for (name, value) in self.fields {
            let is_host = name.eq_ignore_ascii_case("host");
            let written = if is_host { Err(EncodeError::FieldReserved) } else { write_user_field(out, name, value) };
            written.inspect_err(|_| out.truncate(start))?;
        }
        if let Some(length) = length {
            write_content_length(out, length);
        }
        if chunked {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        // RFC 9112, 9.3: the version's default is omitted.
        out.extend_from_slice(match (self.keep_alive, self.version) {
            (true, Version::Http11) | (false, Version::Http10) => b"\r\n",
            (true, Version::Http10) => b"Connection: keep-alive\r\n\r\n",
            (false, Version::Http11) => b"Connection: close\r\n\r\n",
        });
        Ok(SentRequest::new(self.method))
    }
}
