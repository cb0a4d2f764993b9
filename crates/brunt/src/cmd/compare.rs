//! `brunt compare`: compares two sets of trials, or measures two targets side by side first. The table goes to
//! stdout, everything else to stderr.

mod live;

use super::ci::{self, Check, Outcome};
use super::{report_crossed, share, stdout};
use brunt_lab::Error;
use brunt_lab::compare::{self, Bound, Comparison, Pair, ResultSet};
use brunt_results::ExitCode;
use clap::value_parser;
use std::path::{Path, PathBuf};

const MEASURING: &str = "Measuring first";

#[derive(Debug, clap::Args)]
#[command(
    override_usage = "brunt compare [OPTIONS] A B\n       \
                      brunt compare [OPTIONS] DIR --targets A,B\n       \
                      brunt compare [OPTIONS] --plan PLAN --targets A,B [-- RUN FLAGS]",
    after_help = "\
A and B are directories of brunt run, of brunt load --out, or directories that contain several of the latter. Cells of \
the same name are compared; if each side has a single target, cells with the same load.

There are three conclusions: 'different', 'no difference' within the margin, and 'cannot tell', which needs more repeats \
or rounds. Targets of a run by slices are compared by its rounds; other sets by their repeats, of which there must be four.

Examples:
  brunt compare runs/before runs/after --fail-if 'rate<-5%'
  brunt compare runs/quick --targets uring,epoll
  brunt compare --plan quick --targets uring,epoll -- --only rate=max --budget 30s

Exit status: 0 compared, 1 failed or interrupted, 2 wrong usage, 3 most trials of some cell are not trustworthy (unless \
--allow-untrusted), 99 a --fail-if bound was crossed."
)]
pub struct Args {
    /// Two result directories; one with --targets, none with --plan
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// Two targets of one experiment
    #[arg(long, value_name = "A,B", value_parser = two)]
    targets: Option<(String, String)>,
    /// Smallest relevant difference
    #[arg(long, value_name = "PERCENT", value_parser = margin, default_value = "3%")]
    margin: f64,
    /// Exit with 99 if B differs from A by more than this, for example 'rate<-5%' or 'p99>10%'; may be repeated
    #[arg(long, value_name = "BOUND")]
    fail_if: Vec<Bound>,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    ci: ci::CiFlags,
    /// Exit with 0 even if most trials are not trustworthy
    #[arg(long)]
    allow_untrusted: bool,
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
    /// Each bound, and each cell: whether it has an answer.
    fn checks(&self, comparison: &Comparison) -> Vec<Check> {
        let bound = |bound: &Bound| {
            let crossed = bound.crossed(comparison).join("; ");
            let outcome = if crossed.is_empty() { Outcome::Passed } else { Outcome::Failed(crossed) };
            Check { name: bound.to_string(), outcome }
        };
        let cell = |pair: &Pair| {
            let name = if pair.cell.is_empty() { "trust".to_owned() } else { format!("trust in {}", pair.cell) };
            let why = "most trials are not trustworthy: see their verdicts".to_owned();
            Check { name, outcome: if pair.is_untrusted() { Outcome::Undecided(why) } else { Outcome::Passed } }
        };
        self.fail_if.iter().map(bound).chain(comparison.cells.iter().map(cell)).collect()
    }
}

fn margin(text: &str) -> Result<f64, String> {
    share(text, |percent| percent > 0.0 && percent < 100.0, "above 0% and below 100%")
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let mut code = ExitCode::Good;
        let of_targets = |dir: &Path, (a, b): &(String, String)| {
            let all = ResultSet::read(dir)?;
            Ok::<_, Error>((all.of_target(a)?, all.of_target(b)?))
        };
        let of_run = |dir: &Path, targets: &(String, String)| {
            if let Some(sliced) = compare::sliced(dir, &targets.0, &targets.1, self.margin)? {
                return Ok(sliced);
            }
            let (a, b) = of_targets(dir, targets)?;
            compare::compare(&a, &b, self.margin)
        };
        let comparison = match (&self.plan, self.dirs.as_slice(), &self.targets) {
            (Some(plan), _, Some(targets)) => {
                let dir;
                (dir, code) = live::run(self, plan, targets)?;
                // brunt run has printed the error.
                if code == ExitCode::Usage {
                    return Ok(code);
                }
                of_run(&dir, targets)?
            }
            (None, [dir], Some(targets)) => {
                // Names that are not targets are errors before anything else.
                of_targets(dir, targets)?;
                of_run(dir, targets)?
            }
            (None, [a, b], None) => compare::compare(&ResultSet::read(a)?, &ResultSet::read(b)?, self.margin)?,
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
        stdout::print_as(self.json, &comparison, compare::text)?;
        let crossed = report_crossed(self.fail_if.iter().flat_map(|bound| bound.crossed(&comparison)));
        self.ci.report("brunt compare", 0.0, &self.checks(&comparison), &compare::text(&comparison))?;
        Ok(match code {
            ExitCode::Good if crossed => ExitCode::Threshold,
            ExitCode::Good if comparison.is_untrusted() && !self.allow_untrusted => ExitCode::Untrusted,
            code => code,
        })
    }
}
