//! Values with intervals, by drawing rounds again.

use crate::analysis::within::{Z, Z_OF_ONE_START};
use brunt_statistics::bootstrap::errors;
use brunt_statistics::hodges_lehmann::estimate;
use brunt_statistics::{CONFIDENCE, Interval};
use serde::{Deserialize, Serialize};

/// Draws of rounds for an interval.
const DRAWS: usize = 400;
const SEED: u64 = 1;
/// Fewer rounds of one start have no interval, nor have fewer starts.
const LEAST_ROUNDS: usize = 6;
const LEAST_STARTS: usize = 3;
/// Rounds end when intervals are narrow, which chooses narrow ones: they are wider by this factor.
const STOPPED: f64 = Z_OF_ONE_START / Z;

/// A value and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    /// `None` for fewer than six rounds of one start, or three starts.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// Half of the width of the interval, as a share of the value.
    pub fn half(&self) -> Option<f64> {
        self.interval.map(|interval| (interval.high - interval.low) / 2.0 / self.value.abs())
    }

    /// Whether a value lies in the interval.
    pub fn holds(&self, value: f64) -> bool {
        self.interval.is_some_and(|interval| interval.low <= value && value <= interval.high)
    }

    /// Whether the interval lies wholly below the other one.
    pub fn is_below(&self, other: &Self) -> bool {
        self.interval.zip(other.interval).is_some_and(|(own, other)| own.high < other.low)
    }
}

/// The Hodges-Lehmann centre of each column of the rounds of these indices.
fn centres(rounds: &[Vec<f64>], indices: &[usize]) -> Option<Vec<f64>> {
    let columns = rounds.first()?.len();
    let column = |column: usize| estimate(&indices.iter().map(|index| rounds[*index][column]).collect::<Vec<_>>());
    (0..columns).map(column).collect()
}

fn distinct(starts: &[u32]) -> usize {
    let mut starts = starts.to_vec();
    starts.sort_unstable();
    starts.dedup();
    starts.len()
}

/// What `of` finds for the centres of the columns, with intervals. Each round is a row; rounds are drawn as a whole, so what
/// their slices have in common stays together. `None` without rounds.
pub(super) fn estimates(
    rounds: &[Vec<f64>],
    starts: &[u32],
    of: impl Fn(&[f64]) -> Option<Vec<f64>>,
) -> Option<Vec<Estimate>> {
    let at = |indices: &[usize]| of(&centres(rounds, indices)?);
    let values = at(&(0..rounds.len()).collect::<Vec<_>>())?;
    let is_enough = match distinct(starts) {
        0 | 1 => rounds.len() >= LEAST_ROUNDS,
        count => count >= LEAST_STARTS,
    };
    let found = if is_enough { errors(starts, DRAWS, SEED, at) } else { None };
    let factor = found.as_ref().map_or(0.0, |errors| errors.factor(CONFIDENCE) * STOPPED);
    let one = |(index, value): (usize, f64)| {
        let half = found.as_ref().map(|errors| factor * errors.each[index]);
        Estimate { value, interval: half.map(|half| Interval { low: value - half, high: value + half }) }
    };
    Some(values.into_iter().enumerate().map(one).collect())
}
