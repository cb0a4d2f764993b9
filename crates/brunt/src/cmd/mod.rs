//! The commands, one file each.

mod as_;
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
    /// Make load as wrk, ab or fortio would: their command line, their output.
    As(as_::Args),
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
            Self::As(args) => args.run(),
            Self::Doctor(args) => args.run(),
        }
    }
}
