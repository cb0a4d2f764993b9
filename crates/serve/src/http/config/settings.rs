//! Limits and deadlines, shared by all connections of a server.

use brunt_wire::http1::Limits;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Settings {
    /// Sizes and counts of a request; each violation has a status of its own, see [`Limits`].
    pub limits: Limits,
    /// Time for a head, from its first byte to its last; then 408.
    pub header: Duration,
    /// Time for a body, from the end of its head; then 408.
    pub body: Duration,
    /// Silence between requests; then the connection is closed.
    pub idle: Duration,
    /// Time in which a client takes no byte of a response; then the connection is reset.
    pub send: Duration,
    /// Bytes of request bodies in memory, over all connections of a worker; beyond: 503.
    pub bodies: u64,
    /// Send neither `Date` nor `Server`. RFC 9110 requires `Date`: results made without it should say so.
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

/// Bytes of responses put together before they are written.
pub(crate) const MAX_BUFFERED: usize = 64 << 10;

/// Longest delay, pause or drip that a client can request.
pub(crate) const MAX_CLIENT_DELAY: Duration = Duration::from_secs(10);
pub(crate) const MAX_CLIENT_BYTES: u64 = 16 << 20;
pub(crate) const MAX_CLIENT_PIECES: u64 = 1000;
/// Most lines that a client can request; each repeats the request's head.
pub(crate) const MAX_CLIENT_LINES: u64 = 100;
/// Bytes of a body shown in JSON, where escapes can make them six times as long.
pub(crate) const MAX_REFLECTED_BODY: usize = 64 << 10;
