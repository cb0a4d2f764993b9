//! An experiment with two versions of one binary as its targets; `brunt ci` prints what comes of it.

use super::pair::Pair;
use super::{Line, checks, find_plan};
use crate::cmd::{ci::Outcome, parsed};
use brunt_lab::format::plural;
use brunt_lab::plan::Plan;
use brunt_lab::report;
use brunt_lab::run_directory::RunDirectory;
use brunt_results::Error;
use std::io::{self, Write as _};
use std::sync::{Arc, atomic::AtomicBool};

/// Refuses flags of `brunt run` that it would refuse.
pub(in crate::cmd) fn check(pair: &Pair) -> Result<(), Error> {
    line(&pair.words(true)).map(drop)
}

fn line(words: &[String]) -> Result<Line, Error> {
    // What an interrupted run left there is of other versions.
    parsed(words.iter().map(String::as_str).chain(["--fresh"]))
}

/// Runs the plan that `change` makes of the plan in `pair`, and writes its report. False if there is something amiss: it was
/// interrupted, or a trial failed; a line says so.
pub(in crate::cmd) fn measure(
    pair: &Pair,
    change: impl Fn(Plan) -> Plan,
    stop: &Arc<AtomicBool>,
) -> Result<bool, Error> {
    let plan = line(&pair.words(true))?.args.overridden(change(find_plan(pair.plan)?.0));
    let is_sliced = plan.is_ok_and(|plan| plan.is_sliced());
    let args = line(&pair.words(is_sliced))?.args;
    let prepared = args.prepared(args.planned(change)?, pair.out.to_owned(), stop)?;
    let summary = args.measured(&prepared, stop)?;
    let report = report::read(pair.out)?;
    let place = report::write(&report, &RunDirectory::at(pair.out))?;
    let mut stderr = io::stderr();
    if !pair.quiet {
        let _ = writeln!(stderr, "report: {}", place.display());
    }
    let failed = checks::checks(&report).into_iter().find_map(|check| match check.outcome {
        Outcome::Failed(why) => Some(format!("{}: {why}", check.name)),
        _ => None,
    });
    let amiss = match failed {
        _ if summary.interrupted => Some("interrupted".to_owned()),
        None if report.not_run > 0 => Some(format!("{} not run", plural(report.not_run, "trial"))),
        failed => failed,
    };
    if let Some(why) = &amiss {
        let _ = writeln!(stderr, "error: {why}");
    }
    Ok(amiss.is_none())
}
