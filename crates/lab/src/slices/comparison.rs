//! What the slices of one load say about its targets: ratios to the baseline with intervals, and a verdict on each.

use brunt_results::figure;
use serde::{Deserialize, Serialize};

/// A figure of a slice, compared as a ratio of target to baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// Correct replies a second; only in a closed loop, or where an open loop misses its rate.
    Rate,
    /// CPU time of the target a reply.
    Cost,
    Mean,
    P50,
    P90,
    /// Of slices with at least 1,000 replies, or of groups of rounds that have as many.
    P99,
}

impl Figure {
    pub const ALL: [Self; 6] = [Self::Rate, Self::Cost, Self::Mean, Self::P50, Self::P90, Self::P99];

    /// The same figure of a trial.
    pub fn entry(self) -> &'static figure::Figure {
        match self {
            Self::Rate => &figure::RATE,
            Self::Cost => &figure::COST,
            Self::Mean => &figure::MEAN,
            Self::P50 => &figure::P50,
            Self::P90 => &figure::P90,
            Self::P99 => &figure::P99,
        }
    }

    /// The figure of slices that is this one of a trial, if there is one.
    pub fn of(entry: &figure::Figure) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.entry() == entry)
    }

    /// In words.
    pub fn name(self) -> &'static str {
        self.entry().label
    }

    /// As narrow columns and charts name it.
    pub fn short(self) -> &'static str {
        self.entry().short()
    }

    /// The quantile of response times that the figure is, if it is one.
    pub fn quantile(self) -> Option<f64> {
        self.entry().quantile()
    }
}

/// One figure of one target against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    pub figure: Figure,
    /// Target over baseline.
    pub ratio: f64,
    /// 95 % interval, spread between starts included.
    pub low: f64,
    pub high: f64,
    /// Wilcoxon's signed-rank test over the rounds, or that of the interval with the spread between starts, whichever is larger.
    pub p: f64,
    /// The same, adjusted for all comparisons of the table (Benjamini and Hochberg).
    pub p_adjusted: f64,
    /// Rounds, or groups of rounds, that it rests on.
    pub rounds: usize,
    /// Absent for fewer than six starts, and by trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<StartSpread>,
    pub verdict: Verdict,
}

/// Standard deviation of the logarithm of a ratio from start to start, beyond what rounds explain, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StartSpread {
    pub deviation: f64,
    pub low: f64,
    pub high: f64,
}

/// The answer on one figure, of the comparison and not of the absolute figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval lies within the margin.
    NoDifference,
    /// The interval excludes 1, after adjustment for the number of comparisons.
    Different,
    /// Neither; about this many rounds would tell, if more rounds can.
    CannotTell { rounds: Option<usize> },
    /// Neither, and the interval is wider than was asked for, or too many rounds do not count.
    Imprecise { rounds: Option<usize> },
    /// The generator was full in the slices of the faster target.
    ClientLimited,
    /// Requests failed.
    Errors,
}

impl Verdict {
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoDifference => "no difference",
            Self::Different => "different",
            Self::CannotTell { .. } => "cannot tell",
            Self::Imprecise { .. } => "imprecise",
            Self::ClientLimited => "client-limited",
            Self::Errors => "errors",
        }
    }

    /// Whether the question has an answer.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::NoDifference | Self::Different)
    }
}

/// What makes the intervals doubtful.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Alarm {
    /// Differences of neighbouring rounds are correlated.
    Dependence { target: String, figure: Figure, lag1: f64 },
    /// The figure depends on which target had the slice before.
    CarryOver { target: String, figure: Figure, share: f64 },
    /// The ratio differs between the machine's fast and slow rounds.
    State { target: String, figure: Figure, fast: f64, slow: f64 },
    /// A target uses CPU time while it idles, in percent of a core.
    IdleBurn { target: String, percent: f64 },
    /// Rounds that do not count, of all.
    Void { rounds: usize, of: usize },
    /// The p99 of a typical slice and of all slices merged disagree.
    RareStalls { target: String, typical: f64, merged: f64 },
}

/// One target of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetComparison {
    pub target: String,
    /// Requests that failed, in rounds that do not count too.
    pub failed: u64,
    /// Empty for the baseline; figures of fewer than six rounds are left out.
    pub ratios: Vec<Ratio>,
    /// Merged over the counted rounds, in microseconds, with the 95 % interval of the ratio to the baseline's (bootstrap over
    /// rounds); absent without enough replies.
    pub p99_merged: Option<Merged>,
    pub p999_merged: Option<Merged>,
}

/// A quantile of the merged histograms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    pub us: f64,
    /// To the baseline's, with its interval; absent for the baseline.
    pub ratio: Option<[f64; 3]>,
    /// Whether pauses of the machine took more time than lies beyond the quantile: it is the machine's then.
    pub machines: bool,
}

impl TargetComparison {
    pub fn ratio(&self, figure: Figure) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.figure == figure)
    }
}

/// All targets of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}
