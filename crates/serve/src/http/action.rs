//! What a [`Conversation`](super::conversation::Conversation) asks of its connection.

use std::time::Duration;

/// Bytes discarded after the last response: enough for a form or a picture whose sender looks for a response only at the end.
pub(crate) const LINGER: usize = 1 << 20;
/// The same after a malformed request. Lower, because discarding 1 MiB costs as much as a hundred responses.
pub(crate) const LINGER_REFUSED: usize = 64 << 10;

/// The next step of a connection, after writing what is in `out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read: all input is consumed.
    Read,
    /// Step again with the rest of the input.
    Write,
    /// Sleep, then step again.
    Pause(Duration),
    Close,
    /// Close although the head announced more bytes.
    Cut,
    /// Write bytes that are not HTTP, then as [`Action::Linger`].
    Garbage,
    /// Shut down writing, and close when the client has closed or this many bytes have been discarded. Closing at once would
    /// reset the connection under a client that is still sending, and lose the response (RFC 9112, 9.6).
    Linger(usize),
    Reset,
    /// Send nothing until the client or a deadline ends the connection.
    Stall,
}
