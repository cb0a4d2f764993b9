//! How a figure of one target compares with that of another: the ratio with its interval, and the verdict on it.
//!
//! Both kinds of comparison, of sets of trials and of slices, are made of these. Words and formats are those of [`words`].

pub mod words;

use crate::Figure;
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A p value up to this one is no chance.
pub const CHANCE: f64 = 0.05;

/// One figure of a target over that of the baseline. Of trials, B over A.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Ratio {
    /// Which also says whether more is better.
    pub figure: &'static Figure,
    pub ratio: f64,
    /// 95 % interval; of slices, spread between starts included.
    pub low: f64,
    pub high: f64,
    /// Of slices: Wilcoxon's signed-rank test over the rounds, or that of the interval with the spread between starts, whichever
    /// is larger. Of trials: permutation test.
    pub p: f64,
    /// Adjusted for all comparisons of the table: of slices `p` (Benjamini and Hochberg), of trials that of the t test (Holm).
    pub p_adjusted: f64,
    /// What it rests on: rounds or groups of rounds, or trials of the side that has fewer.
    #[serde(rename = "rounds")]
    pub samples: usize,
    /// Absent for fewer than six starts, and of trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<StartSpread>,
    pub verdict: Verdict,
}

/// Standard deviation of the logarithm of a ratio from start to start, beyond what rounds explain, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct StartSpread {
    pub deviation: f64,
    pub low: f64,
    pub high: f64,
}

/// The answer on one figure, of the comparison and not of the absolute figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The interval lies within the margin.
    NoDifference,
    /// The interval excludes 1, after adjustment for the number of comparisons.
    Different,
    /// Neither; about `needed` samples would tell, if more can.
    CannotTell { needed: Option<usize> },
    /// Neither, and the interval is wider than was asked for, or too many rounds do not count.
    Imprecise { needed: Option<usize> },
    /// The generator was full in the slices of the faster target.
    ClientLimited,
    /// Requests failed.
    Errors,
}

/// Of what is not known.
pub const UNKNOWN: Verdict = Verdict::CannotTell { needed: None };

impl Ratio {
    /// Whether the interval shows that there is no difference that matters.
    pub fn is_within(&self, margin: f64) -> bool {
        // On a logarithmic scale half and double are equally far.
        let margin = margin.ln_1p();
        -margin <= self.low.ln() && self.high.ln() <= margin
    }

    /// Relative change: -0.05 is 5 % less.
    pub fn change(&self) -> f64 {
        self.ratio - 1.0
    }
}

impl Verdict {
    /// Whether the question has an answer.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::NoDifference | Self::Different)
    }

    /// Whether more samples would not help.
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::ClientLimited | Self::Errors)
    }

    /// As JSON and style sheets name it.
    pub fn key(&self) -> &'static str {
        match self {
            Self::NoDifference => "no-difference",
            Self::Different => "different",
            Self::CannotTell { .. } => "cannot-tell",
            Self::Imprecise { .. } => "imprecise",
            Self::ClientLimited => "client-limited",
            Self::Errors => "errors",
        }
    }

    /// Writes its key; where more samples would tell, in an object with their number under `samples`.
    pub fn write<S: Serializer>(&self, samples: &str, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::CannotTell { needed } | Self::Imprecise { needed } => {
                serializer.collect_map([(self.key(), BTreeMap::from([(samples, needed)]))])
            }
            _ => serializer.serialize_str(self.key()),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write("rounds", serializer)
    }
}
