//! `brunt colocate guardian` (hidden): reads the heartbeats of a controller from its standard input.

use crate::cmd::signals::{Repeated, SIGHUP, SIGINT, SIGTERM, on_first};
use brunt_colocate::guardian::{Ended, Options, run};
use brunt_meter::cgroup::Linux;
use brunt_results::{Error, ExitCode, Span};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Journal of the controller
    #[arg(long, value_name = "FILE")]
    journal: PathBuf,
    /// Time between two heartbeats
    #[arg(long)]
    period: Span,
    /// Time from the end of the controller to the end of its jobs, which are frozen meanwhile
    #[arg(long, default_value = "2s")]
    grace: Span,
    /// A pipe to hold open for writing: whoever reads from it takes over when this process has ended, too
    #[arg(long, value_name = "FILE")]
    holds: Option<PathBuf>,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        // It ends with its controller, not before.
        on_first(&[SIGHUP, SIGINT, SIGTERM], Repeated::Ignore, || ())?;
        let _held = self.holds.as_deref().map(held).transpose()?;
        // The controller waits for this line.
        writeln!(io::stdout(), "guarding").and_then(|()| io::stdout().flush())?;
        let options = Options { journal: self.journal.clone(), period: self.period.0, grace: self.grace.0 };
        // Whoever reads this may be gone.
        let mut log = |line: &str| _ = writeln!(io::stderr(), "guardian: {line}");
        match run(&Linux, io::stdin(), &options, &mut log)? {
            Ended::Properly => Ok(ExitCode::Good),
            Ended::Suddenly { problems } if problems.is_empty() => {
                log("the jobs have ended, and all changes of this machine are undone");
                Ok(ExitCode::Good)
            }
            Ended::Suddenly { problems } => {
                problems.iter().for_each(|problem| log(problem));
                Err(Error::Failed(format!("{} changes are not undone: run brunt colocate recover", problems.len())))
            }
        }
    }
}

fn held(path: &Path) -> Result<File, Error> {
    let open = File::options().write(true).open(path);
    open.map_err(|error| Error::Failed(format!("{}: {error}", path.display())))
}
