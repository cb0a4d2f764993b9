//! Confidence interval for the median over repeats, by order statistics (Thompson 1936).
//!
//! Each repeat lies above or below the true median with probability 1/2, so the ranks that enclose it are binomial,
//! whatever the distribution of the repeats. Coverage is at least the confidence asked for, for every number of repeats.

use super::Interval;

/// Fewest repeats with a 95 % interval: the range of six covers the true median with 0.97, of five with only 0.94.
pub const MIN_REPEATS: usize = 6;

/// The narrowest symmetric pair of order statistics that covers the true median with at least `confidence`; the whole
/// range if no narrower pair does.
///
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
    }

    #[test]
    fn constants_have_no_width_and_nan_has_no_interval() {
        assert_eq!(median_interval(&[7.0; 12], 0.95), Some(Interval { low: 7.0, high: 7.0 }));
        assert_eq!(median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN], 0.95), None);
    }
}
