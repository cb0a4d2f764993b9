//! HTTP/1.0 and 1.1 for both ends, as state machines without I/O.
//!
//! ```text
//! bytes read --> server::Connection::next --> Event::Head, Body.., Trailers?, End, ...    or Error, then nothing
//! RequestMeta + status, fields, body --> Response / StaticResponse --> bytes to write
//!
//! client::Request::encode --> bytes to write, and Connection::sent
//! bytes read --> client::Connection::next --> Event::Interim.., Head, Body.., Trailers?, End, ...
//! ```
//!
//! Invariants:
//! - Events borrow from the input. Only an incomplete head or trailer section is copied, until it is complete.
//! - The division of the input into pieces never changes the events.
//! - A request that two parsers could read differently is rejected, not repaired (RFC 9112, 11.2). A response is read
//!   leniently if [`Limits::lenient`] is set: only after the strict parser has refused it, and with a note of each
//!   [`Leniency`]. After a [`ParseError`] the connection has no further messages.
//! - No input can cause a panic, an endless loop, or a buffer beyond the [`Limits`].

pub mod client;
mod encode;
mod error;
mod fields;
mod leniency;
mod parse;
mod refusal;
pub mod server;

pub use encode::{
    body_writer::BodyWriter,
    date::DateHeader,
    response::{Response, StaticResponse},
    status::reason,
};
pub use error::{EncodeError, ParseError};
pub use fields::{Field, Fields};
pub use leniency::{Leniencies, Leniency};
pub use parse::{
    body::Body,
    request_head::{Head, RequestMeta},
};
pub use refusal::Refusal;

/// The version of a message. Later minor versions of HTTP/1 count as 1.1 (RFC 9110, 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Closes after each message unless both ends send `keep-alive`; has no chunks and no 1xx.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// Whether the connection is kept after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Persistence {
    /// Another message may follow.
    Keep,
    /// The connection is to be closed.
    Close,
}

impl Persistence {
    pub(crate) fn keep_if(keep: bool) -> Self {
        if keep { Self::Keep } else { Self::Close }
    }
}

/// A request method. Methods are case-sensitive: `get` is [`Method::Other`] (RFC 9110, section 9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it: RFC 9110, section 9.3, and RFC 5789")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Connect,
    Options,
    Trace,
    Patch,
    /// Any other token.
    Other,
}

impl Method {
    /// The method with this name.
    #[inline]
    pub fn named(name: &str) -> Self {
        match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "DELETE" => Self::Delete,
            "CONNECT" => Self::Connect,
            "OPTIONS" => Self::Options,
            "TRACE" => Self::Trace,
            "PATCH" => Self::Patch,
            _ => Self::Other,
        }
    }
}

/// Fields that are parsed on the stack: the maximum in the head of a request, whatever the [`Limits`].
pub const MAX_FIELDS: usize = 100;

/// What is accepted of a peer: bounds on the memory and work that it can cause with one message, and leniency. Passed by reference: connections hold no copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a whole head, request line and empty lines before it included. Beyond: 431, or 414 if it is the target
    /// that does not end (RFC 6585, section 5).
    pub head: usize,
    /// Fields in a head or trailer section, at most [`MAX_FIELDS`] in the head of a request. Beyond: 431.
    pub fields: usize,
    /// Bytes of the request target. Beyond: 414. RFC 9112, section 3 asks for request lines of at least 8000 bytes.
    pub target: usize,
    /// Bytes of a body without chunk overhead. Beyond: 413. Bodies are counted, never buffered.
    pub body: u64,
    /// Bytes of all chunk extensions of one body together (RFC 9112, section 7.1.1 asks for a bound). Beyond: 400.
    pub chunk_extensions: u32,
    /// Bytes of a trailer section. Beyond: 431.
    pub trailers: usize,
    /// Whether a client accepts responses that break the grammar in a way that a user agent may accept: see [`Leniency`].
    /// Requests are always read strictly.
    pub lenient: bool,
}

impl Limits {
    /// The value of [`Limits::default`]: a 16 KiB head, [`MAX_FIELDS`] fields, an 8 KiB target, a 16 MiB body,
    /// 4 KiB of chunk extensions and 8 KiB of trailers.
    pub const SERVER: Self = Self {
        head: 16 << 10,
        fields: MAX_FIELDS,
        target: 8 << 10,
        body: 16 << 20,
        chunk_extensions: 4 << 10,
        trailers: 8 << 10,
        lenient: false,
    };

    /// For clients that do not store bodies: heads up to 256 KiB, 1000 fields, bodies of any length, read leniently.
    pub const CLIENT: Self = Self { head: 256 << 10, fields: 1000, body: u64::MAX, lenient: true, ..Self::SERVER };
}

impl Default for Limits {
    fn default() -> Self {
        Self::SERVER
    }
}
