//! `brunt colocate`: best-effort jobs beside a latency-critical service. One file per subcommand under `colocate/`.

mod queue;

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
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        match &self.command {
            Command::Queue(args) => args.run(),
        }
    }
}
