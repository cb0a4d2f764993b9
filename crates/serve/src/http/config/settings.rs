//! What a client may cost, as data: limits and deadlines. Shared by all connections; they hold no copy.

use brunt_wire::http1::Limits;
use std::time::Duration;

/// Limits and deadlines of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Sizes and numbers; what is beyond them is refused with the status that [`Limits`] names.
    pub limits: Limits,
    /// Longest that a head may take from its first byte to its last; beyond: 408.
    pub header: Duration,
    /// Longest that a body may take behind its head; beyond: 408.
    pub body: Duration,
    /// Longest that a connection may stay silent between requests; beyond: closed.
    pub idle: Duration,
    /// Longest that a client may take none of the bytes offered to it; beyond: closed.
    pub send: Duration,
    /// Bytes of request bodies that a worker keeps at a time, of all connections together; beyond: 503.
    pub bodies: u64,
    /// Neither `Date` nor `Server` in answers. RFC 9110 wants a `Date`: figures made without are to say so.
    pub bare: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::SERVER,
            header: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(75),
            send: Duration::from_secs(30),
            bodies: 256 << 20,
            bare: false,
        }
    }
}

/// Longest delay, pause or drip that a client may ask for.
pub(crate) const MAX_CLIENT_DELAY: Duration = Duration::from_secs(10);
/// Most bytes that a client may ask for.
pub(crate) const MAX_CLIENT_BYTES: u64 = 16 << 20;
/// Most pieces or events that a client may ask for.
pub(crate) const MAX_CLIENT_PIECES: u64 = 1000;
/// Most lines that a client may ask for: each repeats the head of the request.
pub(crate) const MAX_CLIENT_LINES: u64 = 100;
/// Bytes of a body that are told as JSON: what is made of them can be six times as long.
pub(crate) const MAX_REFLECTED_BODY: usize = 64 << 10;
