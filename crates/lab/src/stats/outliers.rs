//! Outlier detection over repeats, by modified z-scores. Outliers are reported and kept: their cause may recur.

/// Modified z-score beyond which a value is an outlier (Iglewicz and Hoaglin 1993).
const THRESHOLD: f64 = 3.5;
/// Fewest values among which an outlier is identified.
const MIN_VALUES: usize = 5;
/// 0.75 quantile and mean absolute deviation of the standard normal distribution.
const NORMAL_MAD: f64 = 0.674_489_75;
const NORMAL_MEAN_AD: f64 = 0.797_884_56;

pub fn outliers(values: &[f64]) -> Vec<usize> {
    let Some(middle) = super::median(values.iter().copied().map(Some)).filter(|_| values.len() >= MIN_VALUES) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let mad = super::median(distances.iter().copied().map(Some)).unwrap_or(0.0);
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    // The MAD is 0 if more than half of the values are equal.
    let deviation = if mad > 0.0 { mad / NORMAL_MAD } else { mean / NORMAL_MEAN_AD };
    let is_far = |distance: &f64| deviation > 0.0 && distance / deviation > THRESHOLD;
    distances.iter().enumerate().filter(|(_, distance)| is_far(distance)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
