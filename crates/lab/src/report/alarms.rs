//! What makes the comparisons of a sliced experiment doubtful, in words.

use super::{Report, answers, compared};
use crate::format;
use crate::slices::{Alarm, LoadComparison};

/// One line for each alarm, with the load if there are several.
pub fn alarms(report: &Report) -> Vec<String> {
    let is_only = report.comparisons.len() == 1;
    let of_load = |load: &LoadComparison| {
        let prefix = if is_only { String::new() } else { format!("{}: ", answers::load(report, load)) };
        load.alarms.iter().map(|alarm| format!("{prefix}{}", words(alarm, &load.baseline))).collect::<Vec<_>>()
    };
    report.comparisons.iter().flat_map(of_load).collect()
}

fn words(alarm: &Alarm, baseline: &str) -> String {
    let figure = |figure| compared::words(figure);
    match alarm {
        Alarm::Dependence { target, figure: of, lag1 } => format!(
            "dependence: {} of {target} to {baseline}: neighbouring rounds are correlated ({lag1:+.2}), so the interval may \
             be too narrow",
            figure(*of)
        ),
        Alarm::CarryOver { target, figure: of, share } => format!(
            "carry-over: {} of {target} to {baseline} depends on which target had the slice before ({:+.1} %)",
            figure(*of),
            share * 100.0
        ),
        Alarm::State { target, figure: of, fast, slow } => format!(
            "machine state: {} of {target} to {baseline} is {} in the machine's fast rounds and {} in its slow ones",
            figure(*of),
            format::ratio(*fast, None),
            format::ratio(*slow, None)
        ),
        Alarm::IdleBurn { target, percent } => {
            format!(
                "idle CPU: {target} uses {percent:.1} % of a core while it has no load, and the others share that core"
            )
        }
        Alarm::Void { rounds, of } => {
            format!("void: {rounds} of {of} rounds do not count, because the machine took time from them")
        }
        Alarm::RareStalls { target, typical, merged } => format!(
            "rare stalls: response p99 of {target} is {} in a typical slice and {} over all slices together",
            format::ratio(*typical, None),
            format::ratio(*merged, None)
        ),
    }
}
