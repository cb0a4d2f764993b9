//! `brunt run`.

use outcome::ExitCode;

/// Flags of `brunt run`.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        ExitCode::Good
    }
}
