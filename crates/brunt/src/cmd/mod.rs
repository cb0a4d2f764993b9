//! The commands, one file each.

mod compare;
mod compat;
mod doctor;
mod export;
mod find;
mod list;
mod load;
mod register_run;
mod report;
mod run;
mod serve;
mod signals;
mod stdout;
mod worker;

use brunt_results::ExitCode;
use std::io::Write as _;

/// What brunt can do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run a reference server.
    Serve(serve::Args),
    /// Put load on a server and measure it.
    Load(Box<load::Args>),
    /// Run an experiment: every cell of a plan, repeated, interleaved, measured.
    Run(run::Args),
    /// Say how two sets of results differ, by how much, and how sure that is.
    Compare(compare::Args),
    /// Find the highest rate at which a service keeps its promises.
    Find(find::Args),
    /// List what has been measured, the newest first.
    List(list::Args),
    /// Show what was measured once more, from its directory.
    Report(report::Args),
    /// Write results in the format of another program.
    Export(export::Args),
    /// Make load as wrk, ab or fortio would: their command line, their output.
    As(compat::Args),
    /// Find what on this machine falsifies results, and the command that mends it.
    Doctor(doctor::Args),
    /// A process of a server or a load that needs several; started by brunt alone.
    #[command(hide = true, alias = "mate")]
    Worker(worker::Args),
}

impl Command {
    /// Runs the command to its end.
    pub fn run(self) -> ExitCode {
        match self {
            Self::Serve(args) => args.run(),
            Self::Load(args) => args.run(),
            Self::Run(args) => args.run(),
            Self::Compare(args) => args.run(),
            Self::Find(args) => args.run(),
            Self::List(args) => args.run(),
            Self::Report(args) => args.run(),
            Self::Export(args) => args.run(),
            Self::As(args) => args.run(),
            Self::Doctor(args) => args.run(),
            Self::Worker(args) => args.run(),
        }
    }
}

/// Says what went wrong, and what the shell gets.
fn report_error(error: &brunt_lab::Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "error: {error}");
    match error {
        brunt_lab::Error::Usage(_) => ExitCode::Usage,
        brunt_lab::Error::Failed(_) => ExitCode::Failed,
    }
}
