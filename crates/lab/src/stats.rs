//! Statistics over the repeats of a cell and over the seconds of a run. Pure; no function averages percentiles, fills in
//! a missing figure or draws a random number that its seed does not name. `docs/statistics.md` has every formula.

pub mod batch_means;
pub mod bootstrap;
pub mod normal;
pub mod outliers;
pub mod permutation;
pub(crate) mod random;
pub mod ratio;
mod spread;
pub mod student;

pub use spread::{Spread, median, percentile_median, spread};

use serde::{Deserialize, Serialize};

/// What an interval holds with, unless something else is said.
pub const CONFIDENCE: f64 = 0.95;

/// From where to where a figure is expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// The wider one: where two sources of uncertainty are known, the larger is the one to show.
    pub fn wider(self, other: Self) -> Self {
        if other.high - other.low > self.high - self.low { other } else { self }
    }
}
