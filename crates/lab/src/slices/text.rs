//! The comparison of one load as text for a terminal.

use crate::format::{self, ABSENT, plural, time};
use brunt_results::comparison::{Ratio, words};
use brunt_results::env::Idle;
use brunt_results::figure::{COST, Figure, P50, P99, RATE};
use brunt_results::units::share;
use brunt_slices::{Alarm, LoadComparison, Progress, RunningRatio, TargetComparison, sentence};
use std::fmt::Write;

const HEADER: [&str; 6] = ["", "rate", "CPU a request", "p50", "p99", "verdict"];
const SHOWN: [&Figure; 4] = [&RATE, &COST, &P50, &P99];

/// A table with the baseline's figures and the ratios of the others to it, the answer in a sentence, and what it rests on.
pub fn text(comparison: &LoadComparison) -> String {
    let rows = comparison.targets.iter().map(|target| match target.target == comparison.baseline {
        true => baseline(target),
        false => row(target),
    });
    let mut out = format::table(&HEADER, |column| (1..5).contains(&column), rows);
    let _ = writeln!(out, "\n{}", sentence(comparison));
    let void = if comparison.void > 0 { format!(", {} left out", comparison.void) } else { String::new() };
    let starts = plural(comparison.starts, "start");
    let _ = writeln!(
        out,
        "x: ratio to {} with its 95 % interval, over {}{void} and {starts}. Differences below {} do not matter.",
        comparison.baseline,
        plural(comparison.rounds, "round"),
        share(comparison.margin)
    );
    let alarms = comparison.alarms.iter().map(|alarm| alarm_words(alarm, &comparison.baseline));
    for note in alarms.chain(comparison.notes.iter().cloned()) {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn baseline(target: &TargetComparison) -> Vec<String> {
    let [rate, cost, p50, p99] = SHOWN.map(|figure| target.value(figure));
    vec![target.target.clone(), format::throughput(rate), format::cost(cost), time(p50), time(p99), String::new()]
}

fn row(target: &TargetComparison) -> Vec<String> {
    let ratios = SHOWN.into_iter().map(|figure| target.ratio(figure).map_or(ABSENT.to_owned(), Ratio::text));
    let verdict = target.ratio(&RATE).or(target.ratio(&COST)).map_or("", |ratio| ratio.verdict.word());
    std::iter::once(target.target.clone()).chain(ratios).chain([verdict.to_owned()]).collect()
}

/// The intervals so far; no verdict before the end.
pub fn running(progress: &Progress) -> String {
    let shown =
        |name: &str, now: RunningRatio| format!("{name} {}", words::ratio(now.ratio, Some((now.low, now.high))));
    let targets = progress.targets.iter().map(|target| {
        let figures = [target.rate.map(|now| shown("rate", now)), target.cost.map(|now| shown("CPU", now))];
        format!("{}: {}", target.target, figures.into_iter().flatten().collect::<Vec<_>>().join(", "))
    });
    let needed = progress.needed.map_or(String::new(), |needed| format!(" of about {needed}"));
    format!("{} rounds{needed}; {}", progress.rounds, targets.collect::<Vec<_>>().join("; "))
}

/// An alarm in words.
pub fn alarm_words(alarm: &Alarm, baseline: &str) -> String {
    match alarm {
        Alarm::Dependence { target, figure: of, lag1 } => format!(
            "dependence: {} of {target} to {baseline}: neighbouring rounds are correlated ({lag1:+.2}), so the interval may \
             be too narrow",
            of.label
        ),
        Alarm::CarryOver { target, figure: of, share } => format!(
            "carry-over: {} of {target} to {baseline} depends on which target had the slice before ({:+.1} %)",
            of.label,
            share * 100.0
        ),
        Alarm::State { target, figure: of, fast, slow } => format!(
            "machine state: {} of {target} to {baseline} is {} in the machine's fast rounds and {} in its slow ones",
            of.label,
            words::ratio(*fast, None),
            words::ratio(*slow, None)
        ),
        Alarm::IdleBurn { target, percent } => {
            let idle = Idle { cpu_percent: *percent, frozen_by: None };
            let polls = if idle.polls() { "; it polls, so its CPU time a request is that of the core" } else { "" };
            format!(
                "idle CPU: {target} uses {percent:.1} % of a core while it has no load, and the others share that core{polls}"
            )
        }
        Alarm::Shared { target, percent } => format!(
            "shared: {target} uses {percent:.1} % of a core in the slices of the others, and rests without load: their requests \
             reach it too, and their CPU time a request is without it"
        ),
        Alarm::Void { rounds, of } => {
            format!("void: {}", void(*rounds, *of))
        }
        Alarm::RareStalls { target, typical, merged } => format!(
            "rare stalls: response p99 of {target} is {} in a typical slice and {} over all slices together",
            words::ratio(*typical, None),
            words::ratio(*merged, None)
        ),
    }
}

/// That so many rounds of all are left out.
pub(crate) fn void(rounds: usize, of: usize) -> String {
    format!("{rounds} of {of} rounds do not count, because the machine took time from them")
}
