//! Subcommands, one file each.

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
mod status_line;
mod stdout;
mod worker;

use brunt_results::ExitCode;
use std::io::Write as _;

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run a reference server
    Serve(serve::Args),
    /// Generate load and measure a server
    Load(Box<load::Args>),
    /// Run an experiment: every cell of a plan, repeated and interleaved
    Run(run::Args),
    /// Compare two sets of results: difference, confidence interval, conclusion
    Compare(compare::Args),
    /// Find the highest rate that meets an SLO
    Find(find::Args),
    /// List past results, newest first
    List(list::Args),
    /// Render the results in a directory again
    Report(report::Args),
    /// Convert results to the format of another program
    Export(export::Args),
    /// Run a wrk, ab or fortio command line and print that tool's output
    As(compat::Args),
    /// Check this machine for settings that distort results
    Doctor(doctor::Args),
    /// A process of a server or a load that needs several; started by brunt alone.
    #[command(hide = true, alias = "mate")]
    Worker(worker::Args),
}

impl Command {
    /// Runs the command.
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

/// Prints an error and returns its exit code.
fn report_error(error: &brunt_lab::Error) -> ExitCode {
    let text = error.to_string();
    // Errors of clap begin with the word already.
    let prefix = if text.starts_with("error:") { "" } else { "error: " };
    let _ = writeln!(std::io::stderr(), "{prefix}{}", text.trim_end());
    match error {
        brunt_lab::Error::Usage(_) => ExitCode::Usage,
        brunt_lab::Error::Failed(_) => ExitCode::Failed,
    }
}
