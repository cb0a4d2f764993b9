//! `brunt colocate`: best-effort jobs beside a latency-critical service. One file per subcommand under `colocate/`.

mod cluster;
mod dry_run;
mod exec;
mod guardian;
mod memory;
mod metrics;
mod open;
mod orders;
mod probe;
mod queue;
mod recover;
mod replay;
mod run;
mod scenario;
mod simulate;
mod status;
mod unit;

use brunt_results::{Error, ExitCode};

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run best-effort jobs beside a service, under a policy
    Run(run::Args),
    /// Show the runs of this user, and whether they protect their services
    Status(status::Args),
    /// Show allotments that were too much, or let the policy forget them
    Limits(orders::LimitsArgs),
    /// Freeze the jobs until they are resumed
    Pause(orders::OrderArgs),
    /// Let paused jobs go on
    Resume(orders::OrderArgs),
    /// Start no job any more, and end with those that run
    Drain(orders::OrderArgs),
    /// Print a systemd unit that runs a plan
    Unit(unit::Args),
    /// Add, list and cancel jobs
    Queue(queue::Args),
    /// Show what can be limited and measured on this machine
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
    /// Compare policies and placements on many simulated machines
    #[command(alias = "fleet")]
    Cluster(cluster::Args),
    /// Decide again on the readings of an audit log, with its policy or another
    Replay(replay::Args),
}

impl Args {
    /// Whether jobs that an earlier run has left concern it.
    pub fn may_be_disturbed(&self) -> bool {
        matches!(self.command, Command::Run(_) | Command::Queue(_) | Command::Probe(_))
    }

    pub fn run(&self) -> Result<ExitCode, Error> {
        match &self.command {
            Command::Run(args) => args.run(),
            Command::Status(args) => args.run(),
            Command::Limits(args) => args.run(),
            Command::Pause(args) => args.pause(),
            Command::Resume(args) => args.resume(),
            Command::Drain(args) => args.drain(),
            Command::Unit(args) => args.run(),
            Command::Queue(args) => args.run(),
            Command::Probe(args) => args.run(),
            Command::Recover(args) => args.run(),
            Command::Exec(args) => args.run(),
            Command::Guardian(args) => args.run(),
            Command::Simulate(args) => args.run(),
            Command::Cluster(args) => args.run(),
            Command::Replay(args) => args.run(),
        }
    }
}
