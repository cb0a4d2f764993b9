//! HTTP/1.x, both ends, as pure state machines: bytes in, events out; facts in, bytes out.
//!
//! Nothing here owns a socket, reads a clock or decides when to wait, so one and the same connection object is driven
//! by every server model, by the load generator and by a test that has only an array of bytes.
//!
//! ```text
//! bytes read --> server::Connection::next --> Event::Head, Body.., Trailers?, End, ...    or ParseError, then nothing
//! RequestMeta of the head + status, fields, body --> Response / StaticResponse --> bytes to write
//!
//! client::Request::encode --> bytes to write, and Connection::sent
//! bytes read --> client::Connection::next --> Event::Interim.., Head, Body.., Trailers?, End, ...
//! ```
//!
//! Rules that hold everywhere:
//! - Events borrow from the input. A head that arrived in one piece is never copied; a torn one is kept in a buffer
//!   that exists only until it is whole. An idle connection is [`server::Connection`] itself and nothing else.
//! - How the bytes were cut into pieces never changes what comes out.
//! - What two parsers could read in two ways is refused, not repaired (RFC 9112, section 11.2): after a [`ParseError`] there is
//!   no next message on that connection.
//! - Nothing received can make a call panic, loop, or keep more than [`Limits`] allow.

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

/// The version of a message. A later minor version of HTTP/1 counts as 1.1 (RFC 9110, section 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// HTTP/1.0: closes after each message unless both ends say `keep-alive`; knows no chunks and no 1xx.
    Http10,
    /// HTTP/1.1.
    Http11,
}

/// What becomes of the connection once a message has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Persistence {
    /// It may carry another message.
    Keep,
    /// It is to be closed.
    Close,
}

impl Persistence {
    /// `Keep` if `keep`.
    pub(crate) fn keep_if(keep: bool) -> Self {
        if keep { Self::Keep } else { Self::Close }
    }
}
