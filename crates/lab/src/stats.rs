//! Statistics over the repeats of a cell and over the seconds of a run. `docs/reference/statistics.md` has every formula.
//!
//! Pure functions. Percentiles are never averaged, missing figures never filled in, and random draws come from a seed the
//! caller passes.

pub mod batch_means;
pub mod median_interval;
pub mod outliers;
pub mod permutation;
pub mod ratio;
mod spread;
pub mod student;

pub use spread::{Spread, median, percentile_median, spread};

use brunt_results::{LatencySummary, judge::BEYOND_QUANTILE};
use rand_xoshiro::rand_core::Rng;
use serde::{Deserialize, Serialize};

/// Confidence level of intervals unless stated otherwise.
pub const CONFIDENCE: f64 = 0.95;

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// The wider of two intervals: of two sources of uncertainty the larger one is shown.
    pub fn wider(self, other: Self) -> Self {
        if other.high - other.low > self.high - self.low { other } else { self }
    }
}

/// Whether `count` values suffice to report the quantile `1 - beyond`: at least [`BEYOND_QUANTILE`] lie beyond it.
pub fn supports_quantile(count: f64, beyond: f64) -> bool {
    count * beyond >= BEYOND_QUANTILE * (1.0 - 1e-9)
}

/// `value`, the quantile of a summary, if enough values lie beyond it.
pub fn supported(summary: &LatencySummary, quantile: f64, value: Option<f64>) -> Option<f64> {
    value.filter(|_| supports_quantile(summary.count as f64, 1.0 - quantile))
}

/// A number below `bound`, every one equally likely: draws from the uneven rest at the top are thrown away.
pub(crate) fn below(bound: u64, random: &mut impl Rng) -> u64 {
    let even = u64::MAX - u64::MAX % bound;
    loop {
        let draw = random.next_u64();
        if draw < even {
            return draw % bound;
        }
    }
}
