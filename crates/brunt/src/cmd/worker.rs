//! `brunt worker` (hidden; formerly `mate`): one of the processes of a server or load that needs several.

use super::load;
use super::signals::{Repeated, SIGINT, SIGTERM, on_first};
use brunt_results::ExitCode;
use clap::ValueEnum;

/// What the parent process asks for.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The work
    #[arg(value_enum)]
    work: Work,
}

/// Work that several processes can share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    Serve,
    Load,
}

impl Args {
    pub fn run(self) -> ExitCode {
        let parent = match brunt_multiprocess::Parent::from_stdin() {
            Ok(parent) => parent,
            Err(error) => {
                eprintln!("brunt worker: brunt starts this by itself, with a socket as standard input: {error}");
                return ExitCode::Usage;
            }
        };
        // A signal to the whole process group, as from a terminal, is left to the parent, which tells its workers.
        let signals = on_first(&[SIGINT, SIGTERM], Repeated::Ignore, || ());
        let result = signals.and_then(|()| match self.work {
            Work::Serve => brunt_serve::processes::run_worker(parent),
            Work::Load => brunt_load::processes::run_worker(parent, load::resolved),
        });
        // An error means that the parent is gone: there is nothing to report to.
        if result.is_ok() { ExitCode::Good } else { ExitCode::Failed }
    }
}
