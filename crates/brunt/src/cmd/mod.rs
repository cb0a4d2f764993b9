//! The commands, one file each.

mod doctor;
mod load;
mod run;
mod serve;
mod signals;
mod stdout;

use outcome::ExitCode;

/// What brunt can do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run a reference server.
    Serve(serve::Args),
    /// Put load on a server and measure it.
    Load(Box<load::Args>),
    /// Run an experiment: every cell of a plan, repeated, interleaved, measured.
    Run(run::Args),
    /// Find what on this machine falsifies results, and the command that mends it.
    Doctor(doctor::Args),
}

impl Command {
    /// Runs the command to its end.
    pub fn run(self) -> ExitCode {
        match self {
            Self::Serve(args) => args.run(),
            Self::Load(args) => args.run(),
            Self::Run(args) => args.run(),
            Self::Doctor(args) => args.run(),
        }
    }
}
