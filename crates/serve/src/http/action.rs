//! What a conversation asks of the one who does its I/O. Data alone: whoever reads it here need not know either of them.

use std::time::Duration;

/// Bytes that are still received and forgotten after the last answer: as many as a form or a picture may have, for a client
/// that sends its body whole before it looks for an answer.
pub(crate) const LINGER: usize = 1 << 20;
/// After a request that nobody understands there is no body that makes sense; and to forget a mebibyte takes as long as a
/// hundred answers to others.
pub(crate) const LINGER_REFUSED: usize = 64 << 10;

/// What the one who drives a conversation does next, each time after writing what is in `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read: all input is used up.
    Read,
    /// Step again, with what is left of the input.
    Write,
    /// Wait so long, then step again.
    Pause(Duration),
    /// Close.
    Close,
    /// Close, with more announced than was said.
    Cut,
    /// Say what is nothing at all, and then as with [`Action::Linger`].
    Garbage,
    /// Say that nothing more will come, and close when the client has heard it: it may still be sending, and closing
    /// at once would reset the connection and take the answer with it (RFC 9112, section 9.6). Not for more than so many
    /// bytes.
    Linger(usize),
    /// Reset the connection.
    Reset,
    /// Say nothing any more, until the client or a deadline ends it.
    Stall,
}
