//! Query results as tables for a terminal.

use super::query::{Run, Trial};
use crate::format::{date, number, table, time};
use brunt_results::figure;
use std::path::Path;

/// One line per directory, newest first; paths beneath `here` are relative.
pub fn runs(runs: &[Run], here: &Path) -> String {
    let heads = ["started", "plan", "targets", "trials", "verdicts", "directory"];
    let lines = runs.iter().map(|run| {
        let verdicts: Vec<String> = run.verdicts.iter().map(|(word, count)| format!("{count} {word}")).collect();
        let trials = match (run.finished, run.missing) {
            (true, _) => run.trials.to_string(),
            (false, 0) => format!("{}, unfinished", run.trials),
            (false, missing) => format!("{}, {missing} to come", run.trials),
        };
        vec![
            date(run.started_unix_s),
            run.plan.clone(),
            run.targets.join(", "),
            trials,
            verdicts.join(", "),
            shown(&run.directory, "", run.gone, here),
        ]
    });
    table(&heads, |column| heads[column] == "trials", lines)
}

/// One line per trial; paths beneath `here` are relative.
pub fn trials(trials: &[Trial], here: &Path) -> String {
    let heads = ["plan", "target", "cell", "k req/s", "p50", "p99", "p99.9", "CPU us per req", "verdict", "directory"];
    let lines = trials.iter().map(|trial| {
        let us = |figure| {
            let least = if trial.figures.is_bound(figure) { "> " } else { "" };
            format!("{least}{}", time(trial.figures.get(figure)))
        };
        vec![
            trial.plan.clone(),
            trial.target.clone(),
            trial.combination.clone(),
            number(trial.figures.get(&figure::RATE).map(|rate| rate / 1e3), 1),
            us(&figure::P50),
            us(&figure::P99),
            us(&figure::P999),
            number(trial.figures.get(&figure::COST), 2),
            trial.verdict.clone(),
            shown(&trial.directory, &trial.place, trial.gone, here),
        ]
    });
    table(&heads, |column| (3..8).contains(&column), lines)
}

fn shown(directory: &str, place: &str, is_gone: bool, here: &Path) -> String {
    let whole = Path::new(directory).join(place);
    let near = whole.strip_prefix(here).ok().filter(|near| !near.as_os_str().is_empty());
    let text = near.unwrap_or(&whole).display().to_string();
    format!("{}{}", text.trim_end_matches('/'), if is_gone { " (gone)" } else { "" })
}
