//! Errors of received messages ([`ParseError`], with their status) and of messages to be sent ([`EncodeError`]).

use std::fmt;

/// Why a received message is invalid. The connection cannot be used afterwards: respond with [`ParseError::status`], close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParseError {
    /// The request line is not `method SP target SP version` (RFC 9112, section 3).
    RequestLine,
    /// The status line is not `version SP code SP reason` (RFC 9112, section 4).
    StatusLine,
    /// The version is not of the form `HTTP/1.1` (RFC 9112, section 2.3).
    VersionSyntax,
    /// A major version other than 1 (RFC 9110, section 15.6.6).
    VersionUnknown,
    /// A field name is empty or no token, is followed by white space, or the line is folded (RFC 9112, sections 5.1, 5.2).
    FieldName,
    /// A field value with a control character (RFC 9110, section 5.5).
    FieldValue,
    /// A line that ends in a bare CR or LF (RFC 9112, section 2.2).
    LineEnding,
    /// The head is longer than [`super::Limits::head`].
    HeadTooLong,
    /// More fields than [`super::Limits::fields`].
    TooManyFields,
    /// The target is longer than [`super::Limits::target`].
    TargetTooLong,
    /// The target is in none of the four forms, or in one that the method does not allow (RFC 9112, section 3.2).
    Target,
    /// An HTTP/1.1 request without `Host` (RFC 9112, section 3.2).
    HostMissing,
    /// More than one `Host` (RFC 9112, section 3.2).
    HostRepeated,
    /// A `Host` that is no `host[:port]` (RFC 9112, section 3.2).
    HostInvalid,
    /// A `Content-Length` that is not one decimal number of 64 bits (RFC 9112, section 6.3, rule 5).
    LengthInvalid,
    /// More than one `Content-Length` (RFC 9112, section 6.3, rule 5).
    LengthRepeated,
    /// `Content-Length` beside `Transfer-Encoding` (RFC 9112, section 6.3, rule 3).
    LengthAndCoding,
    /// `Transfer-Encoding` in HTTP/1.0 (RFC 9112, section 6.1).
    CodingInHttp10,
    /// A `Transfer-Encoding` in which `chunked` is not last, or stands twice, or which is empty (RFC 9112, section 6.1).
    CodingInvalid,
    /// A transfer coding other than `chunked` (RFC 9112, section 6.1).
    CodingUnknown,
    /// The body is longer than [`super::Limits::body`].
    BodyTooLong,
    /// A chunk size that is not 1 to 16 hexadecimal digits (RFC 9112, section 7.1).
    ChunkSize,
    /// Chunk data that is not followed by CRLF (RFC 9112, section 7.1).
    ChunkEnd,
    /// A chunk extension that breaks the grammar (RFC 9112, section 7.1.1).
    ChunkExtension,
    /// Chunk extensions longer than [`super::Limits::chunk_extensions`].
    ChunkExtensionsTooLong,
    /// The trailer section is longer than [`super::Limits::trailers`].
    TrailersTooLong,
    /// A trailer field that frames or routes the message (RFC 9110, section 6.5.1).
    TrailerForbidden,
    /// An `Expect` other than `100-continue` (RFC 9110, section 10.1.1).
    Expectation,
    /// A TRACE request with a body (RFC 9110, section 9.3.8).
    TraceWithBody,
    /// The peer stopped sending in the middle of a message (RFC 9112, section 8).
    Truncated,
    /// Client: bytes that answer no request (RFC 9112, section 9.2).
    Unsolicited,
    /// Client: the connection ended before the answer began.
    Unanswered,
}

impl ParseError {
    /// The status with which a server responds before it closes; 400 for errors that occur in clients only.
    pub fn status(self) -> u16 {
        match self {
            Self::TargetTooLong => 414,
            Self::HeadTooLong | Self::TooManyFields | Self::TrailersTooLong => 431,
            Self::BodyTooLong => 413,
            Self::Expectation => 417,
            Self::CodingUnknown => 501,
            Self::VersionUnknown => 505,
            _ => 400,
        }
    }

    /// The error as a clause.
    pub fn text(self) -> &'static str {
        match self {
            Self::RequestLine => "the request line is malformed",
            Self::StatusLine => "the status line is malformed",
            Self::VersionSyntax => "the HTTP version is malformed",
            Self::VersionUnknown => "only HTTP/1.x is spoken here",
            Self::FieldName => "a field name is malformed, folded, or followed by white space",
            Self::FieldValue => "a field value holds a control character",
            Self::LineEnding => "a line ends in a bare CR or LF",
            Self::HeadTooLong => "the head is too long",
            Self::TooManyFields => "the head has too many fields",
            Self::TargetTooLong => "the request target is too long",
            Self::Target => "the request target is malformed, or of a form this method does not allow",
            Self::HostMissing => "Host is missing",
            Self::HostRepeated => "Host is given more than once",
            Self::HostInvalid => "Host is not host[:port]",
            Self::LengthInvalid => "Content-Length is not a decimal number",
            Self::LengthRepeated => "Content-Length is given more than once",
            Self::LengthAndCoding => "Content-Length and Transfer-Encoding exclude each other",
            Self::CodingInHttp10 => "Transfer-Encoding does not exist in HTTP/1.0",
            Self::CodingInvalid => "chunked must be the last transfer coding, once",
            Self::CodingUnknown => "the only transfer coding understood here is chunked",
            Self::BodyTooLong => "the body is too long",
            Self::ChunkSize => "a chunk size is not a hexadecimal number",
            Self::ChunkEnd => "a chunk is longer or shorter than its size",
            Self::ChunkExtension => "a chunk extension is malformed",
            Self::ChunkExtensionsTooLong => "the chunk extensions are too long",
            Self::TrailersTooLong => "the trailer section is too long",
            Self::TrailerForbidden => "a trailer field may not frame or route the message",
            Self::Expectation => "the only expectation met here is 100-continue",
            Self::TraceWithBody => "TRACE takes no body",
            Self::Truncated => "the message ends too early",
            Self::Unsolicited => "bytes that answer no request",
            Self::Unanswered => "closed before the answer",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for ParseError {}

/// Why a message is not sent: it is invalid or would break its framing. Nothing of it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EncodeError {
    /// A status outside 200 to 999 for a response, or not 1xx for an interim one.
    Status(u16),
    /// A 1xx response to an HTTP/1.0 client (RFC 9110, section 15.2).
    InterimToHttp10,
    /// A method that is not a token, or CONNECT, which is not supported.
    Method,
    /// A target with white space, a control character, a fragment or a byte outside ASCII; or an empty one.
    Target,
    /// A host that is no `host[:port]`.
    Host,
    /// A field name that is no token.
    FieldName,
    /// A field value with CR, LF, NUL or another control character.
    FieldValue,
    /// A field that the writer sets itself: `Content-Length`, `Transfer-Encoding`, `Connection`; a client's `Host`.
    FieldReserved,
    /// Chunks in HTTP/1.0.
    ChunksInHttp10,
    /// A TRACE request with a body (RFC 9110, 9.3.8).
    TraceWithBody,
    /// More body than was announced; the bytes over.
    BodyTooLong(u64),
    /// Less body than was announced; the bytes missing.
    BodyTooShort(u64),
    /// A HEAD request after 64 or more outstanding ones: send it when fewer are outstanding.
    PipelineTooDeep,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => {
                write!(f, "status {status} cannot be sent here: use 200 to 999, or 1xx for an interim one")
            }
            Self::InterimToHttp10 => f.write_str("HTTP/1.0 knows no 1xx: leave it out"),
            Self::Method => f.write_str("the method is not a token, or is CONNECT"),
            Self::Target => f.write_str("the target holds white space, `#`, or a byte to be %-encoded"),
            Self::Host => f.write_str("the host is not host[:port]"),
            Self::FieldName => f.write_str("the field name is not a token"),
            Self::FieldValue => f.write_str("the field value holds a control character"),
            Self::FieldReserved => f.write_str("this field is set by the writer: leave it out"),
            Self::ChunksInHttp10 => f.write_str("HTTP/1.0 knows no chunks: give the length"),
            Self::TraceWithBody => f.write_str("TRACE takes no body: leave it out"),
            Self::BodyTooLong(over) => write!(f, "the body is {over} bytes longer than announced"),
            Self::BodyTooShort(missing) => write!(f, "the body is {missing} bytes shorter than announced"),
            Self::PipelineTooDeep => f.write_str("HEAD behind 64 unanswered requests: wait for answers"),
        }
    }
}

impl std::error::Error for EncodeError {}
