//! An interval for the median over repeats, from the repeats alone: the percentile bootstrap (Efron 1979).
//!
//! Never for fewer than [`LEAST`] repeats: what is drawn from so few lies within their range, and that range itself holds
//! the true median with no more than `1 - 2^(1-n)`: 0.75 for three, 0.94 for five.

use super::Interval;
use crate::order::below;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Repeats from which on there is an interval: the range of six holds the true median with 0.97.
pub const LEAST: usize = 6;
const RESAMPLES: usize = 4000;

/// Where the median over all possible repeats lies; `middle` is the median that the figure has. The same seed gives the
/// same interval.
pub fn interval(
    values: &[f64],
    middle: impl Fn(Vec<Option<f64>>) -> Option<f64>,
    confidence: f64,
    seed: u64,
) -> Option<Interval> {
    if values.len() < LEAST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let n = values.len() as u64;
    let mut draw = || middle((0..n).map(|_| Some(values[below(n, &mut random) as usize])).collect());
    let mut middles: Vec<f64> = (0..RESAMPLES).filter_map(|_| draw()).collect();
    middles.sort_by(f64::total_cmp);
    let beyond = ((1.0 - confidence) / 2.0 * RESAMPLES as f64).floor() as usize;
    Some(Interval { low: *middles.get(beyond)?, high: *middles.get(RESAMPLES - 1 - beyond)? })
}
