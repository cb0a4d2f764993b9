//! What a conversation asks of the one who does its I/O. Data alone: whoever reads it here need not know either of them.

use std::time::Duration;

/// What the one who drives a conversation does next, each time after writing what is in `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
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
    /// Say what is nothing at all, and then as with [`Next::Linger`].
    Garble,
    /// Say that nothing more will come, and close when the client has heard it: it may still be sending, and closing
    /// at once would reset the connection and take the answer with it (RFC 9112, section 9.6).
    Linger,
    /// Reset the connection.
    Reset,
    /// Say nothing any more, until the client or a deadline ends it.
    Stall,
}
