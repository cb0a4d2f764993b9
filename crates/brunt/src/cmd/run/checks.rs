//! What of an experiment is a check of continuous integration: each cell's trials and, by slices, each comparison.

use crate::cmd::ci::{Check, Outcome};
use brunt_lab::plan::Plan;
use brunt_lab::report::{Report, Row};
use brunt_lab::run_directory::RunDirectory;
use brunt_results::comparison::Ratio;
use brunt_results::figure::{COST, RATE};
use brunt_results::{Error, RunResult, Threshold};
use brunt_slices::LoadComparison;
use std::path::Path;

pub(super) fn checks(report: &Report) -> Vec<Check> {
    let by_slices = !report.comparisons.is_empty();
    let cells = report.rows.iter().map(|row| Check { name: row.cell.id().to_owned(), outcome: trials(row, by_slices) });
    cells.chain(report.comparisons.iter().flat_map(comparisons)).collect()
}

/// The bounds of the plan, each on every trial with a result.
pub(super) fn bounds(plan: &Plan, out: &Path) -> Result<Vec<Check>, Error> {
    let bounds: Vec<Threshold> = plan.fail_if.iter().filter_map(|bound| bound.parse().ok()).collect();
    let directory = RunDirectory::at(out);
    let Some(experiment) = directory.experiment()?.filter(|_| !bounds.is_empty()) else { return Ok(Vec::new()) };
    let trials = directory.results(&experiment).flat_map(|(cell, results)| {
        results.into_iter().map(move |(repeat, result)| (format!("{}, repeat {repeat}", cell.id()), result))
    });
    let check = |(trial, result): (String, RunResult)| {
        let of = |bound: &Threshold| Check {
            name: format!("{trial}: {bound}"),
            outcome: bound.crossed(&result).map_or(Outcome::Passed, |how| Outcome::Failed(format!("{trial}: {how}"))),
        };
        bounds.iter().map(of).collect::<Vec<_>>()
    };
    Ok(trials.flat_map(check).collect())
}

/// By slices a doubt about absolute figures is none about the comparison.
fn trials(row: &Row, by_slices: bool) -> Outcome {
    let failed = row.failures.first().map(|(repeat, failure)| format!("repeat {repeat}: {}", failure.line()));
    let failing = row.failing.first().map(|(repeat, how)| format!("most requests failed in repeat {repeat}: {how}"));
    match failed.or(failing) {
        Some(why) => Outcome::Failed(why),
        None if row.is_untrusted() && !by_slices => {
            Outcome::Undecided(row.doubts.first().map_or_else(String::new, |(_, verdict)| verdict.why.join("; ")))
        }
        None => Outcome::Passed,
    }
}

fn comparisons(load: &LoadComparison) -> impl Iterator<Item = Check> {
    let place = if load.load.is_empty() { String::new() } else { format!(" in {}", load.load) };
    let asked = |ratio: &&Ratio| [&RATE, &COST].contains(&ratio.figure);
    load.targets
        .iter()
        .flat_map(move |target| target.ratios.iter().filter(asked).map(move |ratio| (target, ratio)))
        .map(move |(target, ratio)| Check {
            name: format!("{} of {} to {}{place}", ratio.figure.label, target.target, load.baseline),
            outcome: match ratio.verdict.is_answer() {
                true => Outcome::Passed,
                false => Outcome::Undecided(ratio.verdict.word().to_owned()),
            },
        })
}
