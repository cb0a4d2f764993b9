//! How much higher one set of repeats is than another: the ratio of their geometric means, with an interval.
//!
//! Rates, times and costs vary by factors, so the test is made on logarithms: Welch's, which does not ask that both sides
//! vary alike (Welch 1947). Never compares values that are not above zero.

use super::{
    Interval,
    student::{two_sided, two_sided_quantile},
};

/// The effect of going from the first set to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Second over first: 1.05 is 5 % more.
    pub ratio: f64,
    /// Where the true ratio lies, with the confidence asked for.
    pub interval: Interval,
    /// Two-sided probability of a difference like this one if there were none.
    pub p: f64,
}

/// The ratio of the geometric means of `b` and of `a`; `None` unless both have at least two values and all are above
/// zero.
pub fn ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<Effect> {
    let ((mean_a, square_a), (mean_b, square_b)) = (logs(a)?, logs(b)?);
    let square = square_a + square_b;
    // Welch and Satterthwaite.
    let part = |square: f64, values: &[f64]| square * square / (values.len() - 1) as f64;
    let df = square * square / (part(square_a, a) + part(square_b, b));
    Some(effect(mean_b - mean_a, square, df, confidence))
}

/// The same of repeats that belong together, the first of `a` with the first of `b` and so on: what both meet alike, as a
/// slow spell of the machine, is not in their ratio (Student 1908). `None` unless both have as many, at least two.
pub fn paired(a: &[f64], b: &[f64], confidence: f64) -> Option<Effect> {
    if a.len() != b.len() {
        return None;
    }
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| b / a).collect();
    let (mean, square) = logs(&ratios)?;
    Some(effect(mean, square, (ratios.len() - 1) as f64, confidence))
}

/// The effect of a difference of logarithms with this squared standard error.
fn effect(difference: f64, square: f64, df: f64, confidence: f64) -> Effect {
    let ratio = difference.exp();
    if square <= 0.0 {
        // Values without any spread leave no doubt.
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return Effect { ratio, interval: Interval { low: ratio, high: ratio }, p };
    }
    let half = two_sided_quantile(confidence, df) * square.sqrt();
    let interval = Interval { low: (difference - half).exp(), high: (difference + half).exp() };
    Effect { ratio, interval, p: two_sided(difference / square.sqrt(), df) }
}

/// Mean of the logarithms, and the square of its standard error.
fn logs(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 || values.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().map(|value| value.ln()).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value.ln() - mean).powi(2)).sum();
    Some((mean, squares / (n - 1.0) / n))
}

/// The probabilities of several comparisons, raised so that among all of them a difference where there is none is found
/// as seldom as by one alone (Holm 1979). In the order given.
pub fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut raised = vec![0.0; ps.len()];
    let mut least: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max((ps.len() - rank) as f64 * ps[index]).min(1.0);
        raised[index] = least;
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_cannot_be_compared_is_not() {
        assert_eq!(ratio(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio(&[1.0, 0.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio(&[1.0, f64::NAN], &[1.0, 2.0], 0.95), None);
        let certain = ratio(&[2.0, 2.0], &[3.0, 3.0], 0.95).unwrap();
        assert_eq!(paired(&[1.0, 2.0], &[1.0], 0.95), None);
        assert_eq!((certain.interval.low, certain.interval.high, certain.p), (certain.ratio, certain.ratio, 0.0));
    }

    #[test]
    fn holm_raises_the_smallest_most_and_keeps_the_order() {
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn the_other_way_round_it_is_the_inverse(
            a in proptest::collection::vec(0.1f64..1e6, 2..12), b in proptest::collection::vec(0.1f64..1e6, 2..12),
        ) {
            let (one, other) = (ratio(&a, &b, 0.95).unwrap(), ratio(&b, &a, 0.95).unwrap());
            prop_assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
            prop_assert!((one.interval.low * other.interval.high - 1.0).abs() < 1e-6);
            prop_assert!(one.interval.low <= one.ratio && one.ratio <= one.interval.high);
            // Interval and probability say the same.
            let outside = one.interval.low > 1.0 || one.interval.high < 1.0;
            prop_assert!(outside == (one.p < 0.05) || (one.p - 0.05).abs() < 1e-9);
        }
    }
}
