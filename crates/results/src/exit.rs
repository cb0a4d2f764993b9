//! Exit codes.

/// Exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// The command succeeded.
    Good = 0,
    /// The run failed: the target did not answer, a file could not be written, a tool is missing. Or requests failed.
    Failed = 1,
    /// The command line or the plan is wrong; nothing was run.
    Usage = 2,
    /// The run finished, but its verdict says that the result cannot be trusted.
    Untrusted = 3,
    /// A `--fail-if` threshold was crossed.
    Threshold = 99,
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}
