//! Comparison of two sets of trials: effect, interval, p value and verdict for each figure.
//!
//! The verdict "different" has a false positive rate of at most 5 % over all figures compared. "No difference"
//! requires the whole interval within the margin; otherwise the verdict is that more repeats are needed.

mod answers;
mod bound;
mod by_trials;
mod metric_comparison;
mod result_set;
mod sliced;
pub(crate) mod text;

pub use answers::answers;
pub use bound::Bound;
pub use by_trials::by_trials;
pub use metric_comparison::{MARGIN, MetricComparison, compare_metric};
pub use result_set::{Group, ResultSet};
pub use sliced::{of_load, sliced};
pub use text::{header, legend, rows, text, title};

use brunt_results::{Error, Figure, RunResult, verdict::Kind};
use metric_comparison::compared;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    pub sides: [String; 2],
    /// Differences below this share do not matter.
    pub margin: f64,
    pub cells: Vec<Pair>,
    pub alone: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Pair {
    /// Empty if there is only one cell.
    pub cell: String,
    pub repeats: [usize; 2],
    /// Whether repeats are compared pairwise, because they ran next to each other.
    pub in_pairs: bool,
    /// Whether they are rounds of slices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_slices: bool,
    pub verdicts: [BTreeMap<Kind, usize>; 2],
    pub figures: Vec<MetricComparison>,
}

impl Pair {
    /// Whether more than half of the trials of one set have a verdict other than `ok`, or slices could not be compared.
    pub fn is_untrusted(&self) -> bool {
        if self.figures.iter().any(|figure| figure.verdict().is_invalid()) {
            return true;
        }
        let good = |verdicts: &BTreeMap<Kind, usize>| verdicts.get(&Kind::Ok).copied().unwrap_or(0);
        self.verdicts.iter().any(|verdicts| 2 * good(verdicts) < verdicts.values().sum())
    }
}

pub fn compare(a: &ResultSet, b: &ResultSet, margin: f64) -> Result<Comparison, Error> {
    compare_with(a, b, margin, &[])
}

/// Compares the usual figures and those asked for.
pub fn compare_with(a: &ResultSet, b: &ResultSet, margin: f64, asked: &[&'static Figure]) -> Result<Comparison, Error> {
    let (matched, alone) = result_set::matched(a, b);
    if matched.is_empty() {
        let names = |side: &ResultSet| {
            let names: Vec<&str> = side.groups.iter().map(|group| group.id.as_str()).take(3).collect();
            let more = side.groups.len().saturating_sub(3);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{} has {}{more}", side.name, if names.is_empty() { "none".to_owned() } else { names.join(", ") })
        };
        return Err(Error::Usage(format!("no cell with results is on both sides: {}; {}", names(a), names(b))));
    }
    // Targets of one experiment run one after another in each repeat.
    let beside = a.run.is_some() && a.run == b.run;
    let mut cells: Vec<Pair> = matched.into_iter().map(|(cell, a, b)| pair(cell, [a, b], beside, asked)).collect();
    let mut findings: Vec<&mut MetricComparison> = cells.iter_mut().flat_map(|pair| &mut pair.figures).collect();
    metric_comparison::conclude(&mut findings, margin);
    Ok(Comparison { sides: [a.name.clone(), b.name.clone()], margin, cells, alone })
}

/// Fewest pairs: with five the smallest possible p value is 1/16.
const LEAST_PAIRS: usize = 6;

fn pair(cell: String, [a, b]: [&Group; 2], beside: bool, asked: &[&'static Figure]) -> Pair {
    let pairs = if beside { a.pairs(b) } else { Vec::new() };
    let in_pairs = pairs.len() >= LEAST_PAIRS;
    let (of_a, of_b): (Vec<&RunResult>, Vec<&RunResult>) =
        if in_pairs { pairs.into_iter().unzip() } else { (a.results.iter().collect(), b.results.iter().collect()) };
    Pair {
        cell,
        repeats: [of_a.len(), of_b.len()],
        in_pairs,
        by_slices: false,
        verdicts: [a.verdicts(), b.verdicts()],
        figures: compared(asked).filter_map(|figure| compare_metric(figure, &of_a, &of_b, in_pairs)).collect(),
    }
}

impl Comparison {
    pub fn is_untrusted(&self) -> bool {
        self.cells.iter().any(Pair::is_untrusted)
    }
}
