//! The answer of an experiment: which target is faster, by how much, how sure.

use super::tables::columns::varying;
use super::{Report, Row, charts::load::phrases};
use crate::format::{self, plural};
use brunt_results::figure::{self, COST, Figure, RATE};
use brunt_results::units::share;
use brunt_slices::LoadComparison;
use brunt_slices::sentence;
use std::collections::BTreeSet;

/// One sentence for each load, with the load if there are several.
pub fn answers(report: &Report) -> Vec<String> {
    let answer = |comparison: &LoadComparison| {
        let sentence = sentence(comparison);
        let load = load(report, comparison);
        let is_only = report.answered().len() == 1;
        (!sentence.is_empty()).then(|| if is_only { sentence } else { format!("{load}: {sentence}") })
    };
    report.answered().iter().filter_map(answer).collect()
}

/// The answers; of a report without any, what it says in one line instead.
pub fn first_lines(report: &Report) -> Vec<String> {
    let answers = answers(report);
    match report.rows.as_slice() {
        _ if !answers.is_empty() => answers,
        [row] => vec![alone(row)],
        rows => undecided(report, rows).into_iter().collect(),
    }
}

/// The figures of the one row, and how far they can be trusted.
fn alone(row: &Row) -> String {
    let figures = &row.figures;
    let Some(rate) = figures.rate else { return format!("No figures: {}.", row.verdict()) };
    let offered =
        row.cell.rate().map_or(String::new(), |rate| format!(" of {} offered", format::throughput(Some(rate))));
    let mut clauses = vec![format!("{} answered{offered}", format::throughput(Some(rate.median)))];
    let times = [("p50", figures.get(&figure::P50)), ("p99", figures.get(&figure::P99))];
    let times: Vec<String> =
        times.iter().filter_map(|(name, us)| Some(format!("{name} {}", format::time(Some((*us)?))))).collect();
    clauses.extend((!times.is_empty()).then(|| format!("response {}", times.join(", "))));
    clauses.extend(
        figures.get(&figure::COST).map(|us| format!("{} of the server's CPU time a request", format::cost(Some(us)))),
    );
    clauses.extend(row.parts.knee().map(|knee| knee.words()));
    let why = row.doubts.first().and_then(|(_, verdict)| verdict.why.first());
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    clauses.push(format!("verdict {}{why}", row.verdict()));
    format!("{}.", clauses.join("; "))
}

/// The extreme of many rows, where nothing was compared.
fn undecided(report: &Report, rows: &[Row]) -> Option<String> {
    let names = varying(rows);
    let under = |row: &Row| {
        let load = phrases(&[row], &names);
        if load.is_empty() { row.cell.target.clone() } else { format!("{}, {load}", row.cell.target) }
    };
    let by = |of: fn(&Row) -> Option<f64>| {
        rows.iter().filter_map(move |row| Some((of(row).filter(|of| of.is_finite())?, row)))
    };
    let is_closed = |row: &Row| row.cell.rate().is_none();
    let highest = by(|row| row.figures.rate.map(|rate| rate.median)).filter(|(_, row)| is_closed(row));
    let highest = highest.max_by(|a, b| a.0.total_cmp(&b.0));
    let lowest = || by(|row| row.figures.get(&figure::P99)).min_by(|a, b| a.0.total_cmp(&b.0));
    let extreme = match highest {
        Some((rate, row)) => format!("Highest rate: {} ({})", format::throughput(Some(rate)), under(row)),
        None => {
            lowest().map(|(us, row)| format!("Lowest response p99: {} ({})", format::time(Some(us)), under(row)))?
        }
    };
    let why = match &report.experiment.baseline {
        Some(baseline) => format!("the repeats tell no target from {baseline}"),
        None => "no target is the baseline, so nothing is compared".to_owned(),
    };
    Some(format!("{extreme}; {why}."))
}

/// The load in words; as planned where words do not tell it from the others.
pub fn load(report: &Report, comparison: &LoadComparison) -> String {
    let names = varying(&report.rows);
    let words = |load: &str| {
        let row = report.rows.iter().find(|row: &&Row| row.cell.combination() == load);
        row.map_or(String::new(), |row| phrases(&[row], &names))
    };
    let own = words(&comparison.load);
    let is_other = |other: &&LoadComparison| other.load != comparison.load && words(&other.load) == own;
    if own.is_empty() || report.answered().iter().any(|other| is_other(&other)) {
        return comparison.load.replace(',', ", ");
    }
    own
}

/// What the comparisons rest on, in one line; `None` without slices.
pub fn basis(report: &Report) -> Option<String> {
    let all = &report.comparisons;
    let range = |of: fn(&LoadComparison) -> usize, what: &str| {
        let (low, high) = (all.iter().map(of).min()?, all.iter().map(of).max()?);
        Some(if low == high { plural(low, what) } else { format!("{low} to {high} {what}s") })
    };
    let each = if all.len() > 1 { " a load" } else { "" };
    let void: usize = all.iter().map(|load| load.void).sum();
    let rounds = format!("{}{each}", range(|load| load.rounds, "round")?);
    let mut words = vec![rounds, range(|load| load.starts, "start")?, format!("{void} void")];
    let seconds: f64 = all.iter().map(|load| load.seconds).sum();
    words.push(format!("{seconds:.0} s of load"));
    let sources: BTreeSet<&str> = report.envs.iter().filter_map(|env| env.server_cpu_source.as_deref()).collect();
    let sources = sources.into_iter().collect::<Vec<_>>().join(", ");
    let cpu = if sources.is_empty() { String::new() } else { format!("; CPU time from {sources}") };
    Some(format!("{}{cpu}", words.join(", ")))
}

/// How many comparisons have an answer: "answered: rate 19 of 20, CPU time a request 20 of 20"; `None` without slices.
pub fn answered(report: &Report) -> Option<String> {
    let of = |figure: &Figure| {
        let targets = report.comparisons.iter().flat_map(|load| &load.targets);
        let verdicts: Vec<_> = targets.filter_map(|target| target.ratio(figure)).map(|ratio| &ratio.verdict).collect();
        let known = verdicts.iter().filter(|verdict| verdict.is_answer()).count();
        (!verdicts.is_empty()).then(|| format!("{} {known} of {}", figure.label, verdicts.len()))
    };
    let figures: Vec<String> = [&RATE, &COST].into_iter().filter_map(of).collect();
    (!figures.is_empty()).then(|| format!("answered: {}", figures.join(", ")))
}

/// How to read the comparisons.
pub fn legend(report: &Report) -> Option<String> {
    if let Some(first) = report.by_trials.first() {
        return Some(format!(
            "The answer: ratios of the geometric means over the repeats, with the 95 % interval of a t test. Differences below {} \
             do not matter; targets that the repeats cannot tell from {} are left out.",
            share(first.margin),
            first.baseline,
        ));
    }
    let first = report.comparisons.first()?;
    let open = report.comparisons.iter().any(|load| load.open_loop);
    let given = if open { "; where the rate is given, of the p50, which is named" } else { "" };
    Some(format!(
        "x baseline: ratio of the rate to that of {} in the same round, with its 95 % interval{given}. The verdict is on this \
         ratio: differences below {} do not matter, and a half width of {} is \
         asked for.",
        first.baseline,
        share(first.margin),
        share(first.precision),
    ))
}
