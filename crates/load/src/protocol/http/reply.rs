//! Replies, and what they lead to.

use super::ReplyFields;
use crate::measure::recorder::Failure;
use brunt_wire::http1::Persistence;
use std::time::Duration;

/// Why the conversation on a connection ends or pauses.
pub(super) enum End {
    /// The connection has failed, and its outstanding requests with it.
    Lost(Failure),
    /// The target has closed the idle connection.
    Closed,
    /// All requests are answered, and the next one cannot follow at once.
    Answered {
        /// The connection can be used further.
        keep: bool,
        /// The target closes the connection.
        closes: bool,
        /// Pause before the next request.
        delay: Option<Duration>,
    },
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Lost(failure)
    }
}

/// A reply that comes in pieces, as far as it has come. Its buffers are used for later replies too.
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
    /// Empty unless checked or shown to a script.
    pub body: &'a [u8],
}

/// What received bytes led to.
pub(super) enum Taken {
    /// A part of the outstanding replies.
    Part,
    /// A reply, and with it capacity for a request.
    Capacity,
    /// A further request can be written.
    Next,
    /// Nothing is outstanding, and nothing is due.
    Idle,
    /// The connection ends or pauses.
    End(End),
}
