//! Mean and spread of recorded times, as printed by wrk and ab.

use hdrhistogram::Histogram;

/// Mean, sample standard deviation, and percentage of values within one deviation, in the unit of the values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spread {
    pub mean: f64,
    pub stdev: f64,
    pub max: f64,
    /// NaN without values, as these tools print it.
    pub within: f64,
}

impl Spread {
    pub(super) fn of(times: &Histogram<u64>) -> Self {
        let values = || times.iter_recorded().map(|at| (at.value_iterated_to() as f64, at.count_at_value() as f64));
        Self::weighted(&values().collect::<Vec<_>>())
    }

    pub(super) fn of_numbers(numbers: &[f64]) -> Self {
        Self::weighted(&numbers.iter().map(|number| (*number, 1.0)).collect::<Vec<_>>())
    }

    fn weighted(values: &[(f64, f64)]) -> Self {
        let count: f64 = values.iter().map(|(_, n)| n).sum();
        let mean = if count > 0.0 { values.iter().map(|(v, n)| v * n).sum::<f64>() / count } else { 0.0 };
        let squares: f64 = values.iter().map(|(v, n)| (v - mean).powi(2) * n).sum();
        let stdev = if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let near = |value: f64| (value - mean).abs() <= stdev;
        let within: f64 = values.iter().filter(|(v, _)| near(*v)).map(|(_, n)| n).sum();
        let max = values.iter().map(|(v, _)| *v).fold(0.0, f64::max);
        Self { mean, stdev, max, within: within / count * 100.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_that_of_a_sample() {
        let spread = Spread::of_numbers(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((spread.mean, spread.max), (5.0, 9.0));
        assert!((spread.stdev - 2.138).abs() < 0.001, "{}", spread.stdev);
        assert_eq!(spread.within, 75.0);
        let mut times = brunt_results::latency::new_histogram();
        times.record_n(1000, 3).unwrap();
        times.record(2000).unwrap();
        assert!((Spread::of(&times).mean - 1250.0).abs() < 2.0);
        let nothing = Spread::of_numbers(&[]);
        assert!(nothing.mean == 0.0 && nothing.stdev == 0.0 && nothing.within.is_nan());
    }
}
