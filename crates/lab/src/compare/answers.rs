//! What a comparison found, one sentence a cell.

use super::text::signed;
use super::{Comparison, Conclusion, MetricComparison, Pair};
use crate::format;

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
    let mut clauses: Vec<String> =
        pair.figures.iter().filter(|found| found.conclusion == Conclusion::Different).map(change).collect();
    let mut group = |is: fn(&Conclusion) -> bool, words: &str| {
        let found = pair.figures.iter().filter(|found| is(&found.conclusion));
        let names: Vec<&str> = found.map(|found| found.figure.label).collect();
        if !names.is_empty() {
            clauses.push(format!("{}: {words}", names.join(", ")));
        }
    };
    let within = format!("no difference within {}", format::share(comparison.margin));
    group(|conclusion| *conclusion == Conclusion::NoDifference, &within);
    group(|conclusion| matches!(conclusion, Conclusion::CannotTell { .. }), "cannot tell");
    group(|conclusion| matches!(conclusion, Conclusion::Imprecise { .. }), "imprecise");
    group(|conclusion| *conclusion == Conclusion::ClientLimited, "the generator was full");
    group(|conclusion| *conclusion == Conclusion::Errors, "requests failed");
    if clauses.is_empty() {
        clauses.push("no figure is known of both".to_owned());
    }
    format!("{b} against {a}: {}.", clauses.join("; "))
}

/// `response p50 is 15.2 % lower (95 % interval -17.1..-13.3 %)`.
fn change(found: &MetricComparison) -> String {
    let name = found.figure.label;
    let (Some(change), Some([low, high])) = (found.change(), found.interval) else { return format!("{name} differs") };
    let side = if change < 0.0 { "lower" } else { "higher" };
    let size = signed(change.abs());
    let size = size.trim_start_matches('+');
    format!("{name} is {size} % {side} (95 % interval {}..{} %)", signed(low - 1.0), signed(high - 1.0))
}
