//! Replies and their consequences.

use super::ReplyFields;
use crate::measure::recorder::Failure;
use brunt_wire::http1::Persistence;
use std::time::Duration;

/// Why the conversation on a connection ends or pauses.
pub(super) enum End {
    Lost(Failure),
    Closed,
    /// All requests are answered, and the next one cannot follow at once.
    Answered {
        keep: bool,
        closes: bool,
        delay: Option<Duration>,
    },
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Lost(failure)
    }
}

/// A reply that arrives in pieces. Its buffers are reused.
#[derive(Debug, Default)]
pub(super) struct Partial {
    pub status: u16,
    pub length: u64,
    pub body: Vec<u8>,
    pub fields: Vec<(String, Vec<u8>)>,
}

pub(super) struct Reply<'a> {
    pub status: u16,
    pub length: u64,
    pub persistence: Persistence,
    pub fields: ReplyFields<'a>,
    /// Empty unless checked or shown to a script.
    pub body: &'a [u8],
}

pub(super) enum Taken {
    /// More is outstanding.
    Part,
    Capacity,
    Next,
    Idle,
    End(End),
}
