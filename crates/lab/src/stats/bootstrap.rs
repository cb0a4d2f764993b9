//! An interval for the median over repeats, from the repeats alone: of few the ranks that must hold it, of more the
//! bootstrap, corrected for bias and acceleration (BCa, Efron 1987).
//!
//! Never for fewer than [`LEAST`] repeats: their whole range holds the true median with no more than `1 - 2^(1-n)`: 0.75
//! for three, 0.94 for five. Never from resamples of fewer than [`ENOUGH`]: an interval that says 95 % would hold the
//! median of seven with 0.88.

use super::{Interval, normal};
use crate::stats::random::below;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// Repeats from which on there is an interval: the range of six holds the true median with 0.97.
pub const LEAST: usize = 6;
/// Repeats from which on it is one of resamples.
pub const ENOUGH: usize = 10;
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
    if values.len() < ENOUGH {
        return ranked(values, confidence);
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let n = values.len() as u64;
    let mut draw = || middle((0..n).map(|_| Some(values[below(n, &mut random) as usize])).collect());
    let resamples: Vec<f64> = (0..RESAMPLES).filter_map(|_| draw()).collect();
    bca(values, &middle, &resamples, confidence)
}

/// The interval of `figure` over `values` that the same figure of resamples makes.
///
/// Bias is how far the resamples lie to one side of the figure; acceleration, how much its spread grows with it, is told
/// by leaving out each value in turn. `None` where there are no resamples, or no figure.
pub fn bca(
    values: &[f64],
    figure: impl Fn(Vec<Option<f64>>) -> Option<f64>,
    resamples: &[f64],
    confidence: f64,
) -> Option<Interval> {
    let seen = figure(values.iter().copied().map(Some).collect())?;
    let without = |place: usize| {
        let others = values.iter().enumerate().filter(|(other, _)| *other != place);
        figure(others.map(|(_, value)| Some(*value)).collect())
    };
    let left: Vec<f64> = (0..values.len()).map(without).collect::<Option<_>>()?;
    let mean = left.iter().sum::<f64>() / left.len() as f64;
    let sum_of = |power: i32| left.iter().map(|value| (mean - value).powi(power)).sum::<f64>();
    let spread = sum_of(2).powf(1.5);
    let acceleration = if spread > 0.0 { sum_of(3) / (6.0 * spread) } else { 0.0 };

    let mut sorted = resamples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = sorted.partition_point(|value| *value < seen);
    let up_to = sorted.partition_point(|value| *value <= seen);
    // Those that are the figure itself lie half on either side.
    let bias = normal::quantile((below + up_to) as f64 / (2 * sorted.len()) as f64);
    // Where all resamples lie on one side, the divisor may reach 0: the share is then that of the last of them.
    let share = |z: f64| normal::cdf(bias + (bias + z) / (1.0 - acceleration * (bias + z)).max(1e-9));
    let z = normal::quantile((1.0 + confidence) / 2.0);
    Some(Interval { low: at(&sorted, share(-z))?, high: at(&sorted, share(z))? })
}

/// The value at a share of sorted ones, between two neighbours as far as it is between their ranks.
fn at(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

/// The narrowest pair of ranks, as far from either end, that holds the true median with at least `confidence`, whatever the
/// distribution: each value is above it or below, as a coin falls (Thompson 1936). The whole range if none does.
fn ranked(values: &[f64], confidence: f64) -> Option<Interval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let (mut cut, mut ways, mut beyond) = (0, 1.0, 0.5f64.powi(n as i32));
    while cut + 1 < n / 2 {
        ways *= (n - cut) as f64 / (cut + 1) as f64;
        beyond += ways * 0.5f64.powi(n as i32);
        if 2.0 * beyond > 1.0 - confidence {
            break;
        }
        cut += 1;
    }
    Some(Interval { low: *sorted.get(cut)?, high: *sorted.get(n - 1 - cut)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::median;

    fn of(values: &[f64]) -> Option<(f64, f64)> {
        interval(values, median, 0.95, 1).map(|interval| (interval.low, interval.high))
    }

    #[test]
    fn of_few_repeats_the_ranks_tell() {
        let values: Vec<f64> = (1..=9).map(f64::from).rev().collect();
        assert_eq!(of(&values[..5]), None);
        // The ends of six hold the median with 1 - 2/64, those but one of nine with 1 - 20/512; of eight it is 1 - 18/256.
        assert_eq!(of(&values[..6]), Some((4.0, 9.0)));
        assert_eq!(of(&values[..8]), Some((2.0, 9.0)));
        assert_eq!(of(&values), Some((2.0, 8.0)));
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN]), None);
    }

    #[test]
    fn of_more_it_is_the_same_again_and_a_constant_has_no_width() {
        let values: Vec<f64> = (1..=15).map(f64::from).collect();
        let (low, high) = of(&values).unwrap();
        assert!((2.0..=6.0).contains(&low) && (10.0..=14.0).contains(&high), "{low} {high}");
        assert_eq!(of(&values), Some((low, high)));
        assert_eq!(of(&[7.0; 12]), Some((7.0, 7.0)));
    }

    #[test]
    fn without_resamples_there_is_no_interval() {
        assert_eq!(bca(&[1.0, 2.0], median, &[], 0.95), None);
        assert_eq!(bca(&[], median, &[1.0], 0.95), None);
    }
}
