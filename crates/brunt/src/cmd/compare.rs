//! `brunt compare`: compares two sets of trials, or measures two targets side by side first. The table goes to
//! stdout, everything else to stderr.

pub(super) mod judging;
mod live;

use super::run::pair::compared;
use brunt_lab::compare::{self, ResultSet};
use brunt_results::{Error, ExitCode};
use clap::value_parser;
use judging::Judging;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MEASURING: &str = "Measuring first";

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "brunt compare [OPTIONS] A B\n       \
                      brunt compare [OPTIONS] DIR --targets A,B\n       \
                      brunt compare [OPTIONS] --plan PLAN --targets A,B [-- RUN FLAGS]",
    after_help = "\
A and B are directories of brunt run, of brunt load --out, or directories that contain several of the latter, or pages of one \
run or load (brunt report --html), which contain its results. Cells of \
the same name are compared; if each side has a single target, cells with the same load.

There are three conclusions: 'different', 'no difference' within the margin, and 'cannot tell', which needs more repeats \
or rounds. Targets of a run by slices are compared by its rounds; other sets by their repeats, of which there must be four.

Examples:
  brunt compare runs/before runs/after --fail-if 'rate<-5%'
  brunt compare runs/quick --targets uring,epoll
  brunt compare --plan quick --targets uring,epoll -- --only rate=max --budget 30s

Exit status: 0 compared, 1 failed or interrupted, 2 wrong usage, 3 most trials of some cell are not trustworthy (unless \
--allow-untrusted) or, with --strict, it cannot be told whether a bound was crossed, 99 a --fail-if bound was crossed."
)]
pub struct Args {
    /// Two result directories or pages; one with --targets, none with --plan
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Two targets of one experiment
    #[arg(long, value_name = "A,B", value_parser = two)]
    targets: Option<(String, String)>,
    #[command(flatten)]
    judging: Judging,
    /// No progress on stderr
    #[arg(long, short)]
    quiet: bool,

    /// Measure the two targets of this plan first, by slices where possible, else in turns (ABBA); flags for brunt run
    /// follow --
    #[arg(long, value_name = "PLAN", help_heading = MEASURING, requires = "targets", conflicts_with = "dirs")]
    plan: Option<String>,
    /// Trials per target and cell [default: 5 starts by slices, else 16]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000), requires = "plan",
          help_heading = MEASURING)]
    repeat: Option<u32>,
    /// Run directory [default: runs/compare, or runs/compare-2 and so on if that one is finished]
    #[arg(long, value_name = "DIR", help_heading = MEASURING, requires = "plan")]
    out: Option<PathBuf>,
    /// Flags for brunt run
    #[arg(last = true, value_name = "RUN FLAGS", help_heading = MEASURING, requires = "plan")]
    run: Vec<String>,
}

fn two(text: &str) -> Result<(String, String), String> {
    match text.split(',').map(str::trim).collect::<Vec<_>>().as_slice() {
        [a, b] if !a.is_empty() && !b.is_empty() => Ok(((*a).to_owned(), (*b).to_owned())),
        _ => Err("expected two names separated by a comma, for example uring,epoll".to_owned()),
    }
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        self.judging.check()?;
        let (mut code, mut sources) = (ExitCode::Good, self.dirs.clone());
        let of_targets = |dir: &Path, (a, b): &(String, String)| {
            let all = ResultSet::read(dir)?;
            Ok::<_, Error>((all.of_target(a)?, all.of_target(b)?))
        };
        let (margin, asked) = (self.judging.margin, self.judging.asked());
        let of_run = |dir: &Path, targets: &(String, String)| compared(dir, [&targets.0, &targets.1], margin, &asked);
        let comparison = match (&self.plan, self.dirs.as_slice(), &self.targets) {
            (Some(plan), _, Some(targets)) => {
                let dir;
                (dir, code) = live::run(self, plan, targets)?;
                // brunt run has printed the error.
                if code == ExitCode::Usage {
                    return Ok(code);
                }
                sources.push(dir.clone());
                of_run(&dir, targets)?
            }
            (None, [dir], Some(targets)) => {
                // Names that are not targets are errors before anything else.
                of_targets(dir, targets)?;
                of_run(dir, targets)?
            }
            (None, [a, b], None) => compare::compare_with(&ResultSet::read(a)?, &ResultSet::read(b)?, margin, &asked)?,
            (_, dirs, targets) => {
                let with = if targets.is_some() { " and --targets" } else { "" };
                return Err(Error::Usage(format!(
                    "{}{with}: give two directories, or one and --targets A,B, or --plan PLAN and --targets A,B",
                    match dirs.len() {
                        0 => "no directory".to_owned(),
                        1 => "one directory".to_owned(),
                        count => format!("{count} directories"),
                    }
                )));
            }
        };
        self.judging.conclude("brunt compare", &comparison, &sources, Duration::ZERO, code)
    }
}
