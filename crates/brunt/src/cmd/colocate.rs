//! `brunt colocate`: best-effort jobs beside a latency-critical service. One file per subcommand under `colocate/`.

mod exec;
mod guardian;
mod probe;
mod queue;
mod recover;
mod replay;
mod simulate;

use brunt_lab::Error;
use brunt_results::ExitCode;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add, list and cancel jobs
    Queue(queue::Args),
    /// Show which resources of jobs can be limited on this machine
    Probe(probe::Args),
    /// Undo what a killed run left: its jobs, control groups and limits
    Recover(recover::Args),
    /// Starts a job in its control group; started by brunt alone.
    #[command(hide = true)]
    Exec(exec::Args),
    /// Holds the jobs when the controller cannot; started by brunt alone.
    #[command(hide = true)]
    Guardian(guardian::Args),
    /// Compare policies on a simulated machine
    Simulate(simulate::Args),
    /// Decide again on the readings of an audit log, with its policy or another
    Replay(replay::Args),
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        match &self.command {
            Command::Queue(args) => args.run(),
            Command::Probe(args) => args.run(),
            Command::Recover(args) => args.run(),
            Command::Exec(args) => args.run(),
            Command::Guardian(args) => args.run(),
            Command::Simulate(args) => args.run(),
            Command::Replay(args) => args.run(),
        }
    }
}
