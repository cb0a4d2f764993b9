//! What a sliced experiment says about one row of the report.

use crate::format;
use brunt_results::comparison::{Ratio, StartSpread, words};
use brunt_results::figure::{COST, Figure, MEAN, P50, RATE};
use brunt_slices::{LoadComparison, Merged, TargetComparison};

/// A target of a load against the load's baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Differences below this share do not matter.
    pub margin: f64,
    pub is_baseline: bool,
    /// Every compared figure; empty for the baseline.
    pub ratios: Vec<Ratio>,
    /// Of all counted slices together, as in [`MERGED`].
    pub merged: [Option<Merged>; 2],
}

impl Compared {
    pub fn new(load: &LoadComparison, target: &TargetComparison) -> Self {
        let is_baseline = target.target == load.baseline;
        let merged = [target.p99_merged.clone(), target.p999_merged.clone()];
        Self { margin: load.margin, is_baseline, ratios: target.ratios.clone(), merged }
    }

    /// The figure that says which target is faster: the rate, or the median response time where the rate is given.
    pub fn main(&self) -> Option<&Ratio> {
        main_ratio(&self.ratios)
    }

    pub fn of(&self, figure: &Figure) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.figure == figure)
    }

    /// `x1.20 [1.18 1.23]`; a figure other than the rate is named.
    pub fn ratio(&self) -> String {
        match self.main() {
            _ if self.is_baseline => "x1".to_owned(),
            None => format::ABSENT.to_owned(),
            Some(ratio) if *ratio.figure == RATE => ratio.text(),
            Some(ratio) => format!("{} {}", ratio.figure.short(), ratio.text()),
        }
    }

    pub fn verdict(&self) -> &'static str {
        match self.main() {
            _ if self.is_baseline => "baseline",
            None => "not compared",
            Some(ratio) => ratio.verdict.word(),
        }
    }
}

pub fn main_ratio(ratios: &[Ratio]) -> Option<&Ratio> {
    let order = [&RATE, &P50, &MEAN, &COST];
    order.into_iter().find_map(|figure| ratios.iter().find(|ratio| ratio.figure == figure))
}

/// Names of the merged quantiles.
pub const MERGED: [&str; 2] = ["p99", "p99.9"];

/// `812 us, x1.10 [0.98 1.24], the machine's`.
pub fn shown_merged(merged: &Merged) -> String {
    let ratio = merged.ratio.map(|[ratio, low, high]| format!(", {}", words::ratio(ratio, Some((low, high)))));
    let machines = if merged.machines { ", the machine's" } else { "" };
    format!("{}{}{machines}", format::time(Some(merged.us)), ratio.unwrap_or_default())
}

/// Standard deviation from start to start in percent: `1.6 [1.2 2.3]`.
pub fn start_spread(spread: StartSpread) -> String {
    let [deviation, low, high] = [spread.deviation, spread.low, spread.high].map(|share| share * 100.0);
    format!("{deviation:.1} [{low:.1} {high:.1}]")
}
