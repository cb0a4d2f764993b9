//! Ratio of the geometric means of two sets of repeats, with an interval.
//!
//! Rates, times and costs vary by factors, so the t test is on logarithms: Welch's test, which allows unequal variances
//! (Welch 1947). All values must be above zero.

use super::Interval;
use super::student::{mean, two_sided, two_sided_quantile};

/// The effect of going from the first set to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Second over first: 1.05 is 5 % more.
    pub ratio: f64,
    pub interval: Interval,
    pub p: f64,
}

/// Ratio of the geometric means of `b` and `a`; `None` unless both have at least two values and all are above zero.
pub fn ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<Effect> {
    let ((mean_a, square_a), (mean_b, square_b)) = (logs(a)?, logs(b)?);
    let square = square_a + square_b;
    // Welch-Satterthwaite degrees of freedom.
    let part = |square: f64, values: &[f64]| square * square / (values.len() - 1) as f64;
    let df = square * square / (part(square_a, a) + part(square_b, b));
    Some(effect(mean_b - mean_a, square, df, confidence))
}

/// The same for paired repeats, `a[i]` with `b[i]`: conditions common to a pair cancel out of its ratio (Student 1908).
/// `None` unless both sets have the same length, at least two.
pub fn paired(a: &[f64], b: &[f64], confidence: f64) -> Option<Effect> {
    if a.len() != b.len() {
        return None;
    }
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / a).collect();
    let (mean, square) = logs(&ratios)?;
    Some(effect(mean, square, (ratios.len() - 1) as f64, confidence))
}

/// Converts a difference of logarithms, with its squared standard error, to an effect.
fn effect(difference: f64, square: f64, df: f64, confidence: f64) -> Effect {
    let ratio = difference.exp();
    if square <= 0.0 {
        // Constant values: the difference is certain.
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return Effect { ratio, interval: Interval { low: ratio, high: ratio }, p };
    }
    let half = two_sided_quantile(confidence, df) * square.sqrt();
    let interval = Interval { low: (difference - half).exp(), high: (difference + half).exp() };
    Effect { ratio, interval, p: two_sided(difference / square.sqrt(), df) }
}

/// Mean of the logarithms and its squared standard error.
fn logs(values: &[f64]) -> Option<(f64, f64)> {
    if values.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>())
}

/// Adjusts p values so that the chance of one false difference among all is bounded (Holm 1979). Keeps their order.
pub fn holm(ps: &[f64]) -> Vec<f64> {
    let order = by_size(ps);
    let mut adjusted = vec![0.0; ps.len()];
    let mut least: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max((ps.len() - rank) as f64 * ps[index]).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

/// Adjusts p values so that the expected share of false ones among the differences found is bounded (Benjamini and Hochberg
/// 1995), also where they are positively dependent, as figures of one target are (Benjamini and Yekutieli 2001). Keeps
/// their order.
pub fn benjamini_hochberg(ps: &[f64]) -> Vec<f64> {
    let order = by_size(ps);
    let mut adjusted = vec![0.0; ps.len()];
    let mut most: f64 = 1.0;
    for (rank, index) in order.into_iter().enumerate().rev() {
        most = most.min(ps.len() as f64 / (rank + 1) as f64 * ps[index]);
        adjusted[index] = most;
    }
    adjusted
}

/// Indices of values, the smallest first.
fn by_size(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn incomparable_sets_have_no_ratio() {
        assert_eq!(ratio(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio(&[1.0, 0.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio(&[1.0, f64::NAN], &[1.0, 2.0], 0.95), None);
        let certain = ratio(&[2.0, 2.0], &[3.0, 3.0], 0.95).unwrap();
        assert_eq!(paired(&[1.0, 2.0], &[1.0], 0.95), None);
        assert_eq!((certain.interval.low, certain.interval.high, certain.p), (certain.ratio, certain.ratio, 0.0));
    }

    #[test]
    fn holm_raises_the_smallest_p_most() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn benjamini_hochberg_raises_p_by_the_number_of_comparisons_over_its_rank() {
        // The example of Benjamini and Hochberg (1995), section 4.1: four of the fifteen are found at 5 %, by Holm three.
        let ps = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0000,
        ];
        let found = |adjusted: Vec<f64>| adjusted.iter().filter(|p| **p <= 0.05).count();
        assert_eq!((found(benjamini_hochberg(&ps)), found(holm(&ps))), (4, 3));
        assert_eq!(benjamini_hochberg(&[0.04, 0.01, 0.03]), [0.04, 0.03, 0.04]);
        assert!(benjamini_hochberg(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn adjusted_p_values_keep_their_order_and_lie_between_p_and_holms(ps in proptest::collection::vec(0.0f64..=1.0, 1..60)) {
            let (ours, holms) = (benjamini_hochberg(&ps), holm(&ps));
            for (one, p) in ps.iter().enumerate() {
                prop_assert!(*p <= ours[one] + 1e-12 && ours[one] <= holms[one] + 1e-12);
                for (other, q) in ps.iter().enumerate() {
                    prop_assert!(p > q || ours[one] <= ours[other]);
                }
            }
        }

        #[test]
        fn swapping_the_sets_inverts_the_ratio(
            a in proptest::collection::vec(0.1f64..1e6, 2..12), b in proptest::collection::vec(0.1f64..1e6, 2..12),
        ) {
            let (one, other) = (ratio(&a, &b, 0.95).unwrap(), ratio(&b, &a, 0.95).unwrap());
            prop_assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
            prop_assert!((one.interval.low * other.interval.high - 1.0).abs() < 1e-6);
            prop_assert!(one.interval.low <= one.ratio && one.ratio <= one.interval.high);
            // Interval and p value agree.
            let outside = one.interval.low > 1.0 || one.interval.high < 1.0;
            prop_assert!(outside == (one.p < 0.05) || (one.p - 0.05).abs() < 1e-9);
        }
    }
}
