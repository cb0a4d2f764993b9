//! What the slices of one load say about its targets: ratios to the baseline with intervals, and a verdict on each.

use brunt_results::comparison::Ratio;
use brunt_results::figure::{COST, Figure, MEAN, P50, P90, P99, RATE};
use brunt_results::result::Errors;
use serde::Serialize;
use std::collections::BTreeMap;

/// The figures of a slice. The rate only in a closed loop, or where an open loop misses its rate; the p99 of slices with at least
/// 1,000 replies, or of groups of rounds that have as many.
pub const FIGURES: [&Figure; 6] = [&RATE, &COST, &MEAN, &P50, &P90, &P99];

/// What makes the intervals doubtful.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Alarm {
    /// Differences of neighbouring rounds are correlated.
    Dependence { target: String, figure: &'static Figure, lag1: f64 },
    /// The figure depends on which target had the slice before.
    CarryOver { target: String, figure: &'static Figure, share: f64 },
    /// The ratio differs between the machine's fast and slow rounds.
    State { target: String, figure: &'static Figure, fast: f64, slow: f64 },
    /// A target uses CPU time while it idles, in percent of a core.
    IdleBurn { target: String, percent: f64 },
    /// The requests of other targets come to it too, as those of a proxy do to its backend. In percent of a core.
    Shared { target: String, percent: f64 },
    /// Rounds that do not count, of all.
    Void { rounds: usize, of: usize },
    /// The p99 of a typical slice and of all slices merged disagree.
    RareStalls { target: String, typical: f64, merged: f64 },
}

/// One target of a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetComparison {
    pub target: String,
    /// Requests and connections that failed, in rounds that do not count too.
    pub failed: u64,
    #[serde(skip_serializing_if = "crate::record::is_none")]
    pub errors: Errors,
    /// By the keys of [`FIGURES`]: the median over its slices; absent where no slice has it.
    pub figures: BTreeMap<&'static str, f64>,
    /// Empty for the baseline; figures of fewer than six rounds are left out.
    pub ratios: Vec<Ratio>,
    /// Merged over the counted rounds, in microseconds, with the 95 % interval of the ratio to the baseline's (bootstrap over
    /// rounds); absent without enough replies.
    pub p99_merged: Option<Merged>,
    pub p999_merged: Option<Merged>,
}

/// A quantile of the merged histograms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Merged {
    pub us: f64,
    /// To the baseline's, with its interval; absent for the baseline.
    pub ratio: Option<[f64; 3]>,
    /// Whether pauses of the machine took more time than lies beyond the quantile: it is the machine's then.
    pub machines: bool,
}

impl TargetComparison {
    /// `3 failures (2 timeout, 1 connect)`; none if nothing failed.
    pub fn failures(&self) -> Option<String> {
        let (count, kinds) = (self.failed, self.errors.words());
        let noun = if count == 1 { "failure" } else { "failures" };
        (count > 0)
            .then(|| if kinds.is_empty() { format!("{count} {noun}") } else { format!("{count} {noun} ({kinds})") })
    }

    pub fn ratio(&self, figure: &Figure) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.figure == figure)
    }

    /// The median over its slices.
    pub fn value(&self, figure: &Figure) -> Option<f64> {
        self.figures.get(figure.key).copied()
    }
}

/// All targets of one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadComparison {
    /// Settings of the load, as in the cells' ids; empty if there is only one.
    pub load: String,
    /// Whether requests had a schedule: rates are those offered then.
    pub open_loop: bool,
    pub baseline: String,
    /// Differences below this share do not matter.
    pub margin: f64,
    /// Half width of the intervals that was asked for, as a share.
    pub precision: f64,
    /// Counted rounds, and those that were left out.
    pub rounds: usize,
    pub void: usize,
    pub starts: usize,
    /// Length of all slices.
    pub seconds: f64,
    /// In the order of the plan.
    pub targets: Vec<TargetComparison>,
    pub alarms: Vec<Alarm>,
    /// What the comparison rests on, and what was not measured and why, as sentences of the one that has made the slices.
    pub notes: Vec<String>,
}
