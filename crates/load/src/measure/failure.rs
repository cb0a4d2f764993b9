//! Kinds of failures.

use brunt_results::result::Errors;

/// Kind of a failed request or connection, as [`brunt_results::result::Errors`] defines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Connect,
    Timeout,
    Reset,
    Closed,
    Truncated,
    Protocol,
    Status,
    Mismatch,
}

impl Failure {
    /// Whether the request has no complete reply, so that its response time is at least what it has waited.
    pub fn is_unanswered(self) -> bool {
        !matches!(self, Self::Status | Self::Mismatch)
    }

    pub fn count_in(self, errors: &mut Errors) -> &mut u64 {
        match self {
            Self::Connect => &mut errors.connect,
            Self::Timeout => &mut errors.timeout,
            Self::Reset => &mut errors.reset,
            Self::Closed => &mut errors.closed,
            Self::Truncated => &mut errors.truncated,
            Self::Protocol => &mut errors.protocol,
            Self::Status => &mut errors.status,
            Self::Mismatch => &mut errors.mismatch,
        }
    }
}
