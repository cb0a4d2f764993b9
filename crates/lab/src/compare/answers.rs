//! What a comparison found, one sentence a cell.

use super::{Comparison, MetricComparison, Pair};
use brunt_results::comparison::{Ratio, Verdict, words::signed};

/// One sentence for each cell, with its name if there are several.
pub fn answers(comparison: &Comparison) -> Vec<String> {
    let of = |pair: &Pair| {
        let place = if comparison.cells.len() > 1 { format!("{}: ", pair.cell) } else { String::new() };
        let doubt = if pair.is_untrusted() { "NOT to be believed: " } else { "" };
        format!("{place}{doubt}{}", sentence(pair, comparison))
    };
    comparison.cells.iter().map(of).collect()
}

fn sentence(pair: &Pair, comparison: &Comparison) -> String {
    let [a, b] = &comparison.sides;
    let ratios = pair.figures.iter().filter_map(|found| found.ratio.as_ref());
    let mut clauses: Vec<String> = ratios.filter(|ratio| ratio.verdict == Verdict::Different).map(change).collect();
    // One clause for all figures of a verdict.
    for key in ["no-difference", "cannot-tell", "imprecise", "client-limited", "errors"] {
        let found: Vec<&MetricComparison> = pair.figures.iter().filter(|found| found.verdict().key() == key).collect();
        let names: Vec<&str> = found.iter().map(|found| found.figure.label).collect();
        clauses.extend(
            found.first().map(|first| format!("{}: {}", names.join(", "), first.verdict().clause(comparison.margin))),
        );
    }
    if clauses.is_empty() {
        clauses.push("no figure is known of both".to_owned());
    }
    format!("{b} against {a}: {}.", clauses.join("; "))
}

/// `response p50 is 15.2 % lower (95 % interval -17.1..-13.3 %)`.
fn change(ratio: &Ratio) -> String {
    let side = if ratio.change() < 0.0 { "lower" } else { "higher" };
    let size = signed(ratio.change().abs());
    let size = size.trim_start_matches('+');
    format!("{} is {size} % {side} (95 % interval {})", ratio.figure.label, ratio.change_range())
}
