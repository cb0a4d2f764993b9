//! Why a command ends without what it was asked for.

use std::io;

/// One line for the user: the thing, the value and the remedy. The kind decides the exit code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid request; nothing was run.
    #[error("{0}")]
    Usage(String),
    /// A failure of this machine.
    #[error("{0}")]
    Failed(String),
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
