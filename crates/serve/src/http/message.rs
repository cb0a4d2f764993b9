//! What a handler is told and what it says: the seam between those who decide (routes, scripts) and those who speak HTTP.
//! Nothing here knows a socket, a clock or a parser.

use brunt_wire::http1::Fields;
use std::{net::SocketAddr, rc::Rc, time::Duration};

/// A whole request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// As sent, upper or lower case.
    pub method: &'a str,
    /// Decoded by nobody; without the query.
    pub path: &'a str,
    /// What follows the first `?`, without it; empty if there is none.
    pub query: &'a str,
    /// 0 or 1: the minor version.
    pub minor_version: u8,
    /// In the order they came.
    pub fields: Fields<'a>,
    /// Whole, chunks joined.
    pub body: &'a [u8],
    /// Who asks.
    pub peer: SocketAddr,
    /// Where it was accepted.
    pub local: SocketAddr,
}

/// What a request gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// 200..=599.
    pub status: u16,
    /// Fields beyond those that frame the message; `Date` and `Server` come by themselves.
    pub fields: Vec<(String, Vec<u8>)>,
    /// The content.
    pub body: Content,
    /// Nothing is sent before this time has passed.
    pub delay: Duration,
    /// What goes wrong on purpose.
    pub fault: Option<Fault>,
}

/// The content of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Known at once.
    Whole(Rc<[u8]>),
    /// Sent piece by piece.
    Pieces {
        /// The pieces in order.
        pieces: Vec<Rc<[u8]>>,
        /// Pause before every piece but the first.
        every: Duration,
        /// With a length in the head if true, else in chunks.
        sized: bool,
    },
    /// So many bytes of a text that means nothing, made while they are sent.
    Filled(u64),
}

/// Faults of a server, made on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection is reset instead of an answer.
    Reset,
    /// This many bytes of the body are sent, then the connection is closed.
    Truncate(u64),
    /// Nothing is ever sent; the connection stays open until the client gives up or a deadline ends it.
    Stall,
    /// Bytes that are no HTTP, then the connection is closed.
    Garbage,
}
