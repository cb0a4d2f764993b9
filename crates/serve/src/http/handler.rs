//! The handler interface: a request in, a response out. Plain data, independent of sockets, clocks and the parser.

use brunt_wire::http1::Fields;
use std::cell::RefCell;
use std::sync::Arc;
use std::{fmt, net::SocketAddr, rc::Rc, time::Duration};

/// Produces responses. Each worker has its own instance, so a handler may keep state without locks.
///
/// A handler must never block: a delay is part of the response.
pub trait Handler {
    fn respond(&mut self, request: &Request<'_>) -> Response;

    /// Whether the handler reads bodies; otherwise they are discarded on receipt and `request.body` is empty.
    fn wants_body(&self) -> bool {
        true
    }
}

impl<F: FnMut(&Request<'_>) -> Response> Handler for F {
    fn respond(&mut self, request: &Request<'_>) -> Response {
        self(request)
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// As sent; methods are case-sensitive.
    pub method: &'a str,
    /// Percent-encoded as received, without the query.
    pub path: &'a str,
    /// The part after the first `?`; empty if there is none.
    pub query: &'a str,
    /// 0 or 1.
    pub minor_version: u8,
    /// In the order received.
    pub fields: Fields<'a>,
    /// The whole body, with chunks joined.
    pub body: &'a [u8],
    /// Address of the client.
    pub peer: SocketAddr,
    /// Address on which the connection was accepted.
    pub local: SocketAddr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// 200..=599.
    pub status: u16,
    /// Fields other than the framing ones; `Date` and `Server` are added by the server.
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Content,
    /// Time before the first byte is sent.
    pub delay: Duration,
    pub fault: Option<Fault>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Whole(Rc<[u8]>),
    /// Sent piece by piece.
    Pieces {
        pieces: Vec<Rc<[u8]>>,
        /// Pause before every piece but the first.
        every: Duration,
        /// Framed by `Content-Length` if true, else chunked.
        sized: bool,
    },
    /// This many bytes of filler text, generated while they are sent.
    Filled(u64),
    /// Made while it is sent, piece by piece, until the source ends: server-sent events. Framed by chunks.
    Live(Source),
}

/// What a body that is made while it is sent consists of next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Bytes(Rc<[u8]>),
    /// Nothing yet: the source is asked again after this time.
    Pause(Duration),
    End,
}

/// Makes a body while it is sent. Asked on the worker's thread, so it must not block. The server asks on while it stops, until
/// its grace time is over.
#[derive(Clone)]
pub struct Source(Rc<RefCell<dyn FnMut() -> Piece>>);

impl Source {
    pub fn new(next: impl FnMut() -> Piece + 'static) -> Self {
        Self(Rc::new(RefCell::new(next)))
    }

    pub(crate) fn next(&self) -> Piece {
        (self.0.borrow_mut())()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// Makes the handler of each worker.
#[derive(Clone)]
pub struct Factory(Arc<dyn Fn() -> Box<dyn Handler> + Send + Sync>);

impl Factory {
    pub fn new(make: impl Fn() -> Box<dyn Handler> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    pub(crate) fn handler(&self) -> Box<dyn Handler> {
        (self.0)()
    }
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Factory")
    }
}

impl PartialEq for Factory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A fault that the server injects on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection is reset instead of a response.
    Reset,
    /// This many bytes of the body are sent, then the connection is closed.
    Truncate(u64),
    /// Nothing is sent; the connection stays open until the client or a deadline ends it.
    Stall,
    /// Bytes that are not HTTP, then the connection is closed.
    Garbage,
}

impl Response {
    pub(crate) fn text(status: u16, text: &[u8]) -> Self {
        Self::typed(status, "text/plain", text)
    }

    pub(crate) fn typed(status: u16, media_type: &str, bytes: &[u8]) -> Self {
        let fields = vec![("Content-Type".to_owned(), media_type.as_bytes().to_vec())];
        Self { status, fields, body: Content::Whole(bytes.into()), delay: Duration::ZERO, fault: None }
    }
}
