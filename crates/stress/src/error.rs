//! Errors, each one line with the thing, the value and the remedy.

#[derive(Debug, thiserror::Error)]
pub enum StressError {
    /// Invalid request; nothing was run.
    #[error("{0}")]
    Usage(String),
    /// A failure of this machine or of the sink.
    #[error("{0}")]
    Failed(String),
}

pub(crate) fn usage<T>(text: String) -> Result<T, StressError> {
    Err(StressError::Usage(text))
}

pub(crate) fn failed<T>(text: String) -> Result<T, StressError> {
    Err(StressError::Failed(text))
}
