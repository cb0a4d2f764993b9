//! From a comparison to what is printed, the checks of continuous integration and the exit code.

use crate::cmd::ci::{Check, CiFlags, Outcome};
use crate::cmd::{bounds, report_crossed, share, stdout};
use brunt_lab::compare::{self, Bound, Comparison, Pair};
use brunt_lab::report::page_of_comparison;
use brunt_results::{Error, ExitCode, Figure};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Judging {
    /// Smallest relevant difference
    #[arg(long, value_name = "PERCENT", value_parser = margin, default_value = "3%")]
    pub(in crate::cmd) margin: f64,
    /// Exit with 99 if B differs from A by more than one of these, for example 'rate<-5%,cost>3%' or 'p99>10%&1ms'; may be
    /// repeated. With & and an amount the whole interval must lie beyond both
    #[arg(long, value_name = "BOUNDS", value_parser = bounds::<Bound>)]
    pub(in crate::cmd) fail_if: Vec<Vec<Bound>>,
    /// Exit with 3 if part of an interval is beyond a bound with an amount, and part is not
    #[arg(long)]
    strict: bool,
    /// Print the comparison as JSON
    #[arg(long)]
    json: bool,
    /// Write the comparison as one self-contained HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    ci: CiFlags,
    /// Exit with 0 even if most trials are not trustworthy
    #[arg(long)]
    allow_untrusted: bool,
}

fn margin(text: &str) -> Result<f64, String> {
    share(text, |percent| percent > 0.0 && percent < 100.0, "above 0% and below 100%")
}

impl Judging {
    /// Tests that the page can be written, before anything is measured.
    pub(in crate::cmd) fn check(&self) -> Result<(), Error> {
        stdout::check_writable(self.html.as_deref())
    }

    /// The figures that bounds are about.
    pub(in crate::cmd) fn asked(&self) -> Vec<&'static Figure> {
        self.fail_if.iter().flatten().map(Bound::figure).collect()
    }

    /// Prints the comparison of `sources`, which are directories or pages. `code` is that of the measurement, `took` its
    /// length, `command` the name of the suite.
    pub(in crate::cmd) fn conclude(
        &self,
        command: &str,
        comparison: &Comparison,
        sources: &[PathBuf],
        took: Duration,
        code: ExitCode,
    ) -> Result<ExitCode, Error> {
        stdout::write_page(self.html.as_deref(), || page_of_comparison(comparison, sources))?;
        stdout::print_as(self.json, comparison, compare::text)?;
        let crossed = report_crossed(self.fail_if.iter().flatten().flat_map(|bound| bound.crossed(comparison)));
        let undecided = self.fail_if.iter().flatten().flat_map(|bound| bound.undecided(comparison));
        let undecided = undecided.inspect(|sentence| _ = writeln!(io::stderr(), "cannot tell: {sentence}")).count() > 0;
        self.ci.report(command, took.as_secs_f64(), &self.checks(comparison), || compare::text(comparison))?;
        Ok(match code {
            ExitCode::Good if crossed => ExitCode::Threshold,
            ExitCode::Good if undecided && self.strict => ExitCode::Untrusted,
            ExitCode::Good if comparison.is_untrusted() && !self.allow_untrusted => ExitCode::Untrusted,
            code => code,
        })
    }

    /// Each bound, and each cell: whether it has an answer.
    fn checks(&self, comparison: &Comparison) -> Vec<Check> {
        let bound = |bound: &Bound| {
            let [crossed, undecided] =
                [bound.crossed(comparison), bound.undecided(comparison)].map(|said| said.join("; "));
            let outcome = match () {
                () if !crossed.is_empty() => Outcome::Failed(crossed),
                () if !undecided.is_empty() => Outcome::Undecided(undecided),
                () => Outcome::Passed,
            };
            Check { name: bound.to_string(), outcome }
        };
        let cell = |pair: &Pair| {
            let name = if pair.cell.is_empty() { "trust".to_owned() } else { format!("trust in {}", pair.cell) };
            let why = "most trials are not trustworthy: see their verdicts".to_owned();
            Check { name, outcome: if pair.is_untrusted() { Outcome::Undecided(why) } else { Outcome::Passed } }
        };
        self.fail_if.iter().flatten().map(bound).chain(comparison.cells.iter().map(cell)).collect()
    }
}
