//! Repeats that lie far from the others. They are named and stay in: what made them may make the next one.

/// A modified z-score beyond this is an outlier (Iglewicz and Hoaglin 1993).
const FAR: f64 = 3.5;
/// Of fewer values none can be called the odd one.
const LEAST: usize = 5;
/// The 0.75 quantile of the normal distribution, and the mean distance from its middle: they turn the two scales into
/// standard deviations.
const NORMAL_MAD: f64 = 0.674_489_75;
const NORMAL_MEAN_AD: f64 = 0.797_884_56;

/// Which of the values are outliers, by their place.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(middle) = super::median(values.iter().copied().map(Some)).filter(|_| values.len() >= LEAST) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let mad = super::median(distances.iter().copied().map(Some)).unwrap_or(0.0);
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    // Where more than half of the values are the same, their median distance says nothing.
    let deviation = if mad > 0.0 { mad / NORMAL_MAD } else { mean / NORMAL_MEAN_AD };
    let far = |distance: &f64| deviation > 0.0 && distance / deviation > FAR;
    distances.iter().enumerate().filter(|(_, distance)| far(distance)).map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_odd_one_is_named_and_a_wide_spread_is_none() {
        assert_eq!(outliers(&[100.0, 101.0, 99.0, 100.5, 70.0]), [4]);
        assert_eq!(outliers(&[10.0, 20.0, 30.0, 40.0, 50.0]), [] as [usize; 0]);
        // Half and more the same: the rule falls back to the mean distance.
        assert_eq!(outliers(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 9.0]), [10]);
        assert_eq!(outliers(&[5.0; 8]), [] as [usize; 0]);
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 99.0]), [] as [usize; 0]);
        assert_eq!(outliers(&[]), [] as [usize; 0]);
    }
}
