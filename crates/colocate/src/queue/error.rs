//! Errors of the queue: one line each.

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process writes to the file. Nothing was changed; the same call may succeed later.
    #[error("{0}")]
    Busy(String),
    /// Invalid request; nothing was changed.
    #[error("{0}")]
    Usage(String),
    /// A failure of this machine.
    #[error("{0}")]
    Failed(String),
}
