//! Errors of the queue: one line each.

use std::io;

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

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Usage(_) => io::ErrorKind::InvalidInput,
            Error::Busy(_) | Error::Failed(_) => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}
