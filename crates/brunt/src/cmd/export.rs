//! `brunt export`: results in the format of another program, on stdout or in a file.

use super::{complaint, stdout};
use lab::{
    Error,
    export::{self, TAGS},
};
use outcome::ExitCode;
use std::{fs, io, path::PathBuf};

/// Flags of `brunt export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
csv   a line a trial: the values of its cell, then every key of result.json by its path
hgrm  one distribution of one trial, in milliseconds, as HdrHistogram and wrk2 print percentiles

Examples:
  brunt export --to csv runs/quick --out quick.csv
  brunt export --to hgrm runs/quick/trials/target=epoll,rate=max/1 --tag service

Exit status: 0 written, 1 failed, 2 wrong usage, or nothing to export.")]
pub struct Args {
    /// A directory of brunt run, or of brunt load --out
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// The distribution, for hgrm
    #[arg(long, value_name = "TAG", default_value = TAGS[0], value_parser = TAGS)]
    tag: String,
    /// Write to this file [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Names of formats on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Csv,
    Hgrm,
}

impl Args {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        self.export().map_or_else(|error| complaint(&error), |()| ExitCode::Good)
    }

    fn export(&self) -> Result<(), Error> {
        let text = match self.to {
            Format::Csv => export::csv(&self.dir)?,
            Format::Hgrm => export::hgrm(&self.dir, &self.tag)?,
        };
        match &self.out {
            None => stdout::print(&text)?,
            Some(file) => fs::write(file, text)
                .map_err(|e| io::Error::new(e.kind(), format!("cannot write to {}: {e}", file.display())))?,
        }
        Ok(())
    }
}
