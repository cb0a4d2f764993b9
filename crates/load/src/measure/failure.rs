//! Kinds of failures.

use brunt_results::result::Errors;

/// Kind of a failed request or connection, as [`brunt_results::result::Errors`] defines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Connect,
    Timeout,
    Reset,
    Truncated,
    Protocol,
    Status,
    Mismatch,
}

impl Failure {
    pub fn count_in(self, errors: &mut Errors) -> &mut u64 {
        match self {
            Self::Connect => &mut errors.connect,
            Self::Timeout => &mut errors.timeout,
            Self::Reset => &mut errors.reset,
            Self::Truncated => &mut errors.truncated,
            Self::Protocol => &mut errors.protocol,
            Self::Status => &mut errors.status,
            Self::Mismatch => &mut errors.mismatch,
        }
    }
}
