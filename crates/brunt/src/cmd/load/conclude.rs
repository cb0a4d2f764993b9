//! From a result to verdict, exit code and the checks of continuous integration.

use super::{Args, Measured};
use crate::cmd::ci::{Check, Outcome};
use brunt_results::acceptance::Acceptance;
use brunt_results::verdict::{Kind, ValidityIssue, Verdict};
use brunt_results::{ExitCode, RunResult, Threshold, judge};
use std::io::{self, Write as _};

impl Args {
    /// Each bound, and the verdict.
    pub(super) fn checks(&self, result: &RunResult, code: ExitCode) -> Vec<Check> {
        let bound = |bound: &Threshold| Check {
            name: bound.to_string(),
            outcome: bound.crossed(result).map_or(Outcome::Passed, Outcome::Failed),
        };
        let why = || result.verdict.why.join("; ");
        let verdict = match code {
            ExitCode::Failed => Outcome::Failed(why()),
            ExitCode::Untrusted => Outcome::Undecided(why()),
            _ => Outcome::Passed,
        };
        let verdict = Check { name: "verdict".to_owned(), outcome: verdict };
        self.fail_if.iter().flatten().map(bound).chain([verdict]).collect()
    }

    pub(super) fn conclude(&self, measured: &Measured) -> ExitCode {
        if self.accept_any_result {
            return ExitCode::Good;
        }
        let mut acceptance = Acceptance { bounds: self.fail_if.concat(), doubts: self.allow.clone() };
        if self.allow_untrusted {
            acceptance.allow_all();
        }
        let (code, reasons) = acceptance.conclude(&measured.result);
        for reason in reasons {
            let _ = writeln!(io::stderr(), "{reason}");
        }
        match code {
            ExitCode::Good | ExitCode::Untrusted if measured.server_exited => {
                let why = measured.result.verdict.why.first().map_or("the server exited", String::as_str);
                let _ = writeln!(io::stderr(), "error: {why}: no bound on the requests accepts that");
                ExitCode::Failed
            }
            code => code,
        }
    }
}

/// The verdict on a result, on its course over time and on the exit of the server, which explains a missed rate and a drift.
pub(super) fn verdict(
    result: &RunResult,
    steal_percent: Option<f64>,
    drift: Option<ValidityIssue>,
    server_exit: Option<ValidityIssue>,
    neighbours: Option<ValidityIssue>,
) -> Verdict {
    let mut issues = judge::issues(result, steal_percent);
    if issues.iter().any(|issue| issue.kind() == Kind::Disturbed) {
        issues.extend(neighbours);
    }
    issues.extend(drift);
    if server_exit.is_some() {
        issues.retain(|issue| !matches!(issue.kind(), Kind::RateMissed | Kind::NotStationary));
    }
    issues.extend(server_exit);
    Verdict::of(issues)
}

/// Notes on a number of requests: that the time ended before they had, and which percentiles it is too small for.
pub(super) fn on_number(result: &RunResult) -> Vec<String> {
    let Some(wanted) = result.load.requests else { return Vec::new() };
    let ended = result.requests.completed + result.requests.failed;
    let short = (ended < wanted).then(|| match result.interrupted {
        true => format!("the load was interrupted after {ended} of {wanted} requests"),
        false => format!("-d ended the load after {ended} of {wanted} requests: give a longer one"),
    });
    let few = judge::few_samples(result).filter(|_| !result.interrupted).map(|issue| issue.evidence());
    short.into_iter().chain(few).collect()
}
