//! `brunt report`: renders what a directory holds once more, from its files alone.

use super::{complaint, load, stdout};
use lab::{Error, report, store::Store, terminal};
use outcome::{ExitCode, directory::Directory};
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Flags of `brunt report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 rendered, 1 a directory cannot be read, 2 wrong usage, or it holds no results.")]
pub struct Args {
    /// Directories of brunt run, or of brunt load --out
    #[arg(value_name = "DIR", required = true)]
    dirs: Vec<PathBuf>,
    /// Print a run's report as Markdown
    #[arg(long)]
    markdown: bool,
    /// Write report.md and charts into the directories of runs, too
    #[arg(long)]
    write: bool,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        self.report().map_or_else(|error| complaint(&error), |()| ExitCode::Good)
    }

    fn report(&self) -> Result<(), Error> {
        for (index, dir) in self.dirs.iter().enumerate() {
            let page = self.page(dir)?;
            stdout::print(&format!("{}{page}", if index > 0 { "\n" } else { "" }))?;
        }
        Ok(())
    }

    fn page(&self, dir: &Path) -> Result<String, Error> {
        let store = Store::at(dir);
        if store.experiment()?.is_some() {
            let report = report::read(dir)?;
            if self.write {
                let place = report::write(&report, &store)?;
                let _ = writeln!(io::stderr(), "report: {}", place.display());
            }
            let markdown = || report::markdown(&report);
            return Ok(if self.markdown { markdown() } else { report::text(&report, terminal::width()) });
        }
        let directory = Directory::open(dir);
        if !directory.is_complete() {
            return Err(Error::Usage(format!(
                "{} holds no results: neither experiment.json (brunt run) nor result.json (brunt load --out)",
                dir.display()
            )));
        }
        Ok(load::page(&directory.read_result()?, &directory.read_env()?))
    }
}
