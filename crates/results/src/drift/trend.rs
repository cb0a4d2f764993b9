//! The Mann-Kendall test for a monotone trend, with Sen's slope for its size. Both look at pairs of values and at no
//! distribution, so one slow second changes neither much.
//!
//! Mann 1945, *Nonparametric tests against trend*; Kendall 1975, *Rank correlation methods* (ties); Sen 1968. Seconds that
//! follow each other are alike, which would make trends of chance: the variance is raised by the autocorrelation of what
//! the trend leaves, as Yue and Wang 2004 have it, for an autoregression of first order.

/// A trend in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Pairs that rise less pairs that fall.
    pub s: f64,
    /// `s` in standard deviations of what chance makes of values that are independent.
    pub z_independent: f64,
    /// `s` in standard deviations of what chance makes of values as alike as these are to their neighbours.
    pub z: f64,
    /// Median of the slopes of all pairs, a step.
    pub slope: f64,
    /// Median of the values.
    pub median: f64,
}

/// Beyond this the series is too short to tell how alike neighbours are.
const MOST_ALIKE: f64 = 0.9;

/// The trend of a series; `None` for fewer than four values, for values that are all the same, and for any that is no
/// number. Takes time in proportion to the square of the length.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 4 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut s = 0.0;
    for (i, early) in values.iter().enumerate() {
        for (j, late) in values.iter().enumerate().skip(i + 1) {
            let rise = late - early;
            s += if rise == 0.0 { 0.0 } else { rise.signum() };
            slopes.push(rise / (j - i) as f64);
        }
    }
    let variance = variance(values);
    if variance <= 0.0 {
        return None;
    }
    let slope = median(&mut slopes);
    // A step of S is 2, so half of it is given to chance.
    let excess: f64 = if s == 0.0 { 0.0 } else { s - f64::signum(s) };
    let alike = likeness(values, slope);
    Some(Trend {
        s,
        z_independent: excess / variance.sqrt(),
        z: excess / (variance * (1.0 + alike) / (1.0 - alike)).sqrt(),
        slope,
        median: median(&mut values.to_vec()),
    })
}

/// The variance of S without a trend, ties counted.
fn variance(values: &[f64]) -> f64 {
    let spread = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tied| spread(tied.len() as f64)).sum();
    (spread(values.len() as f64) - ties) / 18.0
}

/// How alike neighbours are once the trend is taken out: the autocorrelation at one step, if it is above 0.
fn likeness(values: &[f64], slope: f64) -> f64 {
    let rest: Vec<f64> = values.iter().enumerate().map(|(i, value)| value - slope * i as f64).collect();
    let mean = rest.iter().sum::<f64>() / rest.len() as f64;
    let square: f64 = rest.iter().map(|r| (r - mean).powi(2)).sum();
    let product: f64 = rest.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if square > 0.0 { (product / square).clamp(0.0, MOST_ALIKE) } else { 0.0 }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { values[middle - 1] / 2.0 + values[middle] / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_example() {
        let rising = trend(&[1.0, 2.0, 3.0, 5.0]).unwrap();
        // Six pairs, all rising; the variance of four values is 4 * 3 * 13 / 18.
        assert_eq!((rising.s, rising.median), (6.0, 2.5));
        assert!((rising.z_independent - 5.0 / (156.0f64 / 18.0).sqrt()).abs() < 1e-12);
        assert_eq!(trend(&[2.0; 9]), None);
        assert_eq!(trend(&[1.0, 2.0, 3.0]), None);
        assert_eq!(trend(&[1.0, f64::NAN, 3.0, 4.0]), None);
    }

    proptest! {
        #[test]
        fn a_series_read_backwards_has_the_opposite_trend(values in proptest::collection::vec(-1e9f64..1e9, 4..40)) {
            let backwards: Vec<f64> = values.iter().rev().copied().collect();
            let (one, other) = (trend(&values).unwrap(), trend(&backwards).unwrap());
            prop_assert_eq!(one.s, -other.s);
            prop_assert!((one.slope + other.slope).abs() <= 1e-9 * one.slope.abs().max(1.0));
        }
    }
}
