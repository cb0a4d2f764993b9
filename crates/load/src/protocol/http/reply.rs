//! A reply on its way in, and what it led to.

use super::ReplyFields;
use crate::measure::recorder::Failure;
use brunt_wire::http1::Persistence;
use std::time::Duration;

/// Why the conversation on a connection is over, or rests.
pub(super) enum End {
    /// The connection has failed, and with it the requests under way.
    Lost(Failure),
    /// The target has closed it, and no request was under way.
    Closed,
    /// All requests are answered; the next one may not follow at once.
    Answered {
        /// The connection is good for more.
        keep: bool,
        /// The target is about to close it.
        closes: bool,
        /// How long to wait before the next request.
        delay: Option<Duration>,
    },
}

/// A reply that comes in pieces, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub status: u16,
    pub length: u64,
    pub body: Vec<u8>,
    pub fields: Vec<(String, Vec<u8>)>,
}

/// A whole reply.
pub(super) struct Reply<'a> {
    pub status: u16,
    pub length: u64,
    pub after: Persistence,
    pub fields: ReplyFields<'a>,
    /// Empty if nobody looks at it.
    pub body: &'a [u8],
}

/// What a received piece led to.
pub(super) enum Taken {
    /// More of what is awaited is to come.
    Part,
    /// A reply, and in its place there is room for a request.
    Room,
    /// What follows is ready to be written.
    Next,
    /// Nothing is awaited, and nothing is due.
    Idle,
    /// The connection, or its turn, is over.
    End(End),
}
