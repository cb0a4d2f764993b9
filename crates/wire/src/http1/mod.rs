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
//! - Input that two parsers could read differently is rejected, not repaired (RFC 9112, 11.2). After a [`ParseError`] the
//!   connection has no further messages.
//! - No input can cause a panic, an endless loop, or a buffer beyond the [`Limits`].

pub mod client;
mod encode;
mod error;
mod fields;
mod limits;
mod method;
mod parse;
pub mod server;

pub use encode::{
    body_writer::BodyWriter, date::DateHeader, response::Response, static_response::StaticResponse, status::reason,
};
pub use error::{EncodeError, ParseError};
pub use fields::{Field, Fields};
pub use limits::{Limits, MAX_FIELDS};
pub use method::Method;
pub use parse::{
    body::Body,
    request_head::{Head, RequestMeta},
};

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
