//! Statistics over the repeats of a cell and over the seconds of a run. `docs/reference/statistics.md` has every formula.
//!
//! Pure functions. Percentiles are never averaged, missing figures never filled in, and random draws come from a seed the
//! caller passes.
#![forbid(unsafe_code)]
// Not published: items with obvious names have no docs.
#![allow(missing_docs)]

pub mod batch_means;
pub mod bootstrap;
pub mod chi_square;
pub mod f;
pub mod hodges_lehmann;
pub mod hotelling;
pub mod line;
mod linear;
pub mod permutation;
pub mod ratio;
pub mod student;

use brunt_results::LatencySummary;
pub use brunt_results::figure::supports_quantile;
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

/// `value`, the quantile of a summary, if enough values lie beyond it.
pub fn supported(summary: &LatencySummary, quantile: f64, value: Option<f64>) -> Option<f64> {
    value.filter(|_| supports_quantile(summary.count as f64, 1.0 - quantile))
}

/// A number below `bound`, every one equally likely: draws from the uneven rest at the top are thrown away.
pub fn below(bound: u64, random: &mut impl Rng) -> u64 {
    let even = u64::MAX - u64::MAX % bound;
    loop {
        let draw = random.next_u64();
        if draw < even {
            return draw % bound;
        }
    }
}

/// The least value above 0 that is enough, if all larger ones are too; by bisection, down to the resolution of an f64.
fn least(is_enough: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while !is_enough(high) && high < 1e150 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        match is_enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// Median, lowest and highest value of one figure over repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// The spread of the values present; `None` if there are none. Values that are not finite count as absent.
pub fn spread(values: impl IntoIterator<Item = Option<f64>>) -> Option<Spread> {
    let mut sorted: Vec<f64> = values.into_iter().flatten().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high, middle) = (*sorted.first()?, *sorted.last()?, sorted.len() / 2);
    // Halved first, because the sum could overflow.
    let even = || sorted[middle - 1] / 2.0 + sorted[middle] / 2.0;
    Some(Spread { median: if sorted.len() % 2 == 1 { sorted[middle] } else { even() }, low, high })
}

/// The median of the values present; the mean of the two middle ones with an even count.
pub fn median(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    spread(values).map(|s| s.median)
}

/// The median of a percentile over repeats. With an even count, the higher of the two middle values: percentiles are not
/// averaged. `None` unless every repeat has the percentile, because repeats without it are those with few requests and
/// leaving them out would bias the result.
pub fn percentile_median(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let mut sorted = values.into_iter().collect::<Option<Vec<f64>>>()?;
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// Modified z-score beyond which a value is an outlier (Iglewicz and Hoaglin 1993).
const THRESHOLD: f64 = 3.5;
/// Fewest values among which an outlier is identified.
const MIN_VALUES: usize = 5;
/// 0.75 quantile and mean absolute deviation of the standard normal distribution.
const NORMAL_MAD: f64 = 0.674_489_75;
const NORMAL_MEAN_AD: f64 = 0.797_884_56;

/// Outliers among repeats, by modified z-scores. They are reported and kept: their cause may recur.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(middle) = median(values.iter().copied().map(Some)).filter(|_| values.len() >= MIN_VALUES) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let mad = median(distances.iter().copied().map(Some)).unwrap_or(0.0);
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    // The MAD is 0 if more than half of the values are equal.
    let deviation = if mad > 0.0 { mad / NORMAL_MAD } else { mean / NORMAL_MEAN_AD };
    let is_far = |distance: &f64| deviation > 0.0 && distance / deviation > THRESHOLD;
    distances.iter().enumerate().filter(|(_, distance)| is_far(distance)).map(|(index, _)| index).collect()
}

/// Fewest repeats with a 95 % interval: the range of six covers the true median with 0.97, of five with only 0.94.
pub const MIN_REPEATS: usize = 6;

/// Confidence interval for the median over repeats, by order statistics (Thompson 1936): the narrowest symmetric pair that
/// covers the true median with at least `confidence`; the whole range if no narrower pair does.
///
/// Each repeat lies above or below the true median with probability 1/2, so the ranks that enclose it are binomial, whatever
/// the distribution of the repeats. Coverage is at least the confidence asked for, for every number of repeats.
/// `None` for fewer than [`MIN_REPEATS`] values, or if one is not finite.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let n = values.len();
    if n < MIN_REPEATS || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // `tail` is P(X <= cut) for X ~ Binomial(n, 1/2).
    let (mut cut, mut term, mut tail) = (0, 0.5f64.powi(n as i32), 0.5f64.powi(n as i32));
    while cut + 1 < n / 2 {
        term *= (n - cut) as f64 / (cut + 1) as f64;
        tail += term;
        if 2.0 * tail > 1.0 - confidence {
            break;
        }
        cut += 1;
    }
    Some(Interval { low: sorted[cut], high: sorted[n - 1 - cut] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians_and_ranges() {
        assert_eq!(median([Some(3.0), Some(1.0), Some(2.0)]), Some(2.0));
        assert_eq!(median([Some(4.0), Some(1.0)]), Some(2.5));
        assert_eq!(median([None, Some(7.0), None]), Some(7.0));
        assert_eq!(median([None, Some(f64::NAN)]), None);
        assert_eq!(percentile_median([Some(4.0), Some(1.0), Some(9.0), Some(2.0)]), Some(4.0));
        assert_eq!(percentile_median([Some(4.0), None]), None);
        assert_eq!(percentile_median([]), None);
        let s = spread([Some(5.0), Some(9.0), Some(1.0)]).unwrap();
        assert_eq!((s.low, s.median, s.high), (1.0, 5.0, 9.0));
    }

    proptest! {
        #[test]
        fn the_median_splits_the_values_in_half(values in proptest::collection::vec(-1e12f64..1e12, 1..40)) {
            let s = spread(values.iter().copied().map(Some)).unwrap();
            let below = values.iter().filter(|v| **v < s.median).count();
            let above = values.iter().filter(|v| **v > s.median).count();
            prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
            prop_assert!(s.low <= s.median && s.median <= s.high);
        }
    }

    #[test]
    fn finds_single_outliers_and_accepts_wide_spreads() {
        assert_eq!(outliers(&[100.0, 101.0, 99.0, 100.5, 70.0]), [4]);
        assert_eq!(outliers(&[10.0, 20.0, 30.0, 40.0, 50.0]), [] as [usize; 0]);
        // More than half equal: falls back to the mean distance.
        assert_eq!(outliers(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 9.0]), [10]);
        assert_eq!(outliers(&[5.0; 8]), [] as [usize; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 99.0]), [] as [usize; 0]);
        assert_eq!(outliers(&[]), [] as [usize; 0]);
    }

    #[test]
    fn ranks_are_those_of_the_binomial_distribution() {
        let of = |n: u32| {
            let values: Vec<f64> = (1..=n).map(f64::from).rev().collect();
            median_interval(&values, 0.95).map(|interval| (interval.low, interval.high))
        };
        assert_eq!(of(5), None);
        // Coverage: 1 - 2/64 for six, 1 - 18/256 for the second to seventh of eight, 1 - 20/512 of nine.
        assert_eq!((of(6), of(8), of(9)), (Some((1.0, 6.0)), Some((1.0, 8.0)), Some((2.0, 8.0))));
        // Conover 1999, table A3: the ranks at n = 15 and n = 20.
        assert_eq!((of(15), of(20)), (Some((4.0, 12.0)), Some((6.0, 15.0))));
        assert_eq!(of(2000).map(|(low, high)| (low > 950.0, high < 1051.0)), Some((true, true)));
        // Constants have no width, NaN has no interval.
        assert_eq!(median_interval(&[7.0; 12], 0.95), Some(Interval { low: 7.0, high: 7.0 }));
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN], 0.95), None);
    }
}
