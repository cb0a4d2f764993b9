//! `brunt mate`: what a server or a load that needs several processes starts as each of them. Nobody types it.

use super::signals::{Repeated, SIGINT, SIGTERM, on_first};
use brunt_results::ExitCode;
use clap::ValueEnum;

/// What the parent asks for.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The work
    #[arg(value_enum)]
    work: Work,
}

/// Work that can be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    Serve,
    Load,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        let parent = match brunt_multiprocess::Parent::of_stdin() {
            Ok(parent) => parent,
            Err(error) => {
                eprintln!("brunt mate: brunt starts this by itself, with a socket to talk over: {error}");
                return ExitCode::Usage;
            }
        };
        // A signal to the whole group, as from a terminal, is the parent's: it says what is to be done.
        let signals = on_first(&[SIGINT, SIGTERM], Repeated::Ignore, || ());
        let result = signals.and_then(|()| match self.work {
            Work::Serve => brunt_serve::processes::mate(parent),
            Work::Load => brunt_load::processes::mate(parent),
        });
        // An error here is a parent that has gone; whoever ended it knows.
        if result.is_ok() { ExitCode::Good } else { ExitCode::Failed }
    }
}
