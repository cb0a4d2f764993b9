//! How a run ends, as scripts see it.

/// The documented exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// The command did what it was asked.
    Good = 0,
    /// The run failed: a target that never answered, a file that could not be written, a missing tool.
    Failed = 1,
    /// The command line or the plan is wrong; nothing was run.
    Usage = 2,
    /// The run finished, but its result may not be called a property of the server (see the verdict).
    Untrusted = 3,
    /// A `--fail-if` threshold was crossed.
    Threshold = 99,
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}
