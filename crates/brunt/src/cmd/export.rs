//! `brunt export`: converts results to the format of another program.

use super::stdout;
use brunt_lab::export::{self, TAGS};
use brunt_results::{Error, ExitCode};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A run, or one result:
  bencher     Bencher's metric format: rate, times in nanoseconds, CPU time a request, with intervals
  csv         one line per trial: its cell, then every key of result.json by its path
  github      input of github-action-benchmark: --figure of each cell, smaller is better but for rate
  hyperfine   format of hyperfine --export-json: cells as commands, --figure of repeats as times; seconds
  prometheus  text exposition format: distributions in seconds, and all other figures
  slices      of a run by slices, CSV: one line per slice, its load, then its counts, CPU times and percentiles

One result (DIR of brunt load --out, or runs/NAME/trials/CELL/REPEAT), one distribution (--tag):
  fortio      input of fortio report: seconds, every bucket of the histogram
  hgrm        input of HdrHistogram's plotter, as printed by wrk2: milliseconds
  k6          format of k6 run --summary-export: milliseconds
  vegeta      format of vegeta report -type=json: nanoseconds

Examples:
  brunt export --to csv runs/quick --out quick.csv
  brunt export --to hyperfine --figure p99 runs/quick
  brunt export --to hgrm runs/quick/trials/target=epoll,rate=max/1 --tag service

Exit status: 0 written, 1 failed, 2 wrong usage, or nothing to export.")]
pub struct Args {
    /// Directory of brunt run or of brunt load --out
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// Latency distribution
    #[arg(long, value_name = "TAG", default_value = TAGS[0], value_parser = TAGS)]
    tag: String,
    /// Figure of each repeat for github and hyperfine; cost is server CPU time per request
    #[arg(long, value_name = "FIGURE", default_value = "mean", value_parser = export::figures())]
    figure: String,
    /// Write to this file [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Bencher,
    Csv,
    Fortio,
    #[value(alias = "gha")]
    Github,
    Hgrm,
    Hyperfine,
    K6,
    Prometheus,
    Slices,
    Vegeta,
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let text = match self.to {
            Format::Bencher => export::bencher(&self.dir, &self.tag)?,
            Format::Github => export::github(&self.dir, &self.tag, &self.figure)?,
            Format::Csv => export::csv(&self.dir)?,
            Format::Fortio => export::fortio(&self.dir, &self.tag)?,
            Format::Hgrm => export::hgrm(&self.dir, &self.tag)?,
            Format::Hyperfine => export::hyperfine(&self.dir, &self.tag, &self.figure)?,
            Format::K6 => export::k6(&self.dir, &self.tag)?,
            Format::Prometheus => export::prometheus(&self.dir)?,
            Format::Slices => export::slices(&self.dir)?,
            Format::Vegeta => export::vegeta(&self.dir, &self.tag)?,
        };
        match &self.out {
            None => stdout::print(&text)?,
            Some(file) => stdout::write_file(file, &text)?,
        }
        Ok(ExitCode::Good)
    }
}
