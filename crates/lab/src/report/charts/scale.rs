//! Linear and logarithmic scales: from values to positions along an axis, and the ticks.
//!
//! Invariants, for any values: 2 to 12 ticks, and positions within 0..=1.

/// Values are clamped to these bounds, which keeps the arithmetic finite.
const MIN: f64 = 1e-3;
const MAX: f64 = 1e15;

#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    pub is_log: bool,
    pub ticks: Vec<f64>,
    /// Distance between ticks; the lowest tick of a logarithmic scale.
    pub step: f64,
}

impl Scale {
    /// Linear, from zero to a round number not below `max`.
    pub fn from_zero(max: f64) -> Self {
        let max = if max.is_finite() && max > 0.0 { max.clamp(MIN, MAX) } else { 1.0 };
        let step = round_up(max / 6.0);
        let count = (max / step - 1e-9).ceil().max(1.0);
        let ticks = (0..=count as u32).map(|i| f64::from(i) * step).collect();
        Self { low: 0.0, high: count * step, is_log: false, ticks, step }
    }

    /// Logarithmic if the values span more than a decade, else linear from zero.
    pub fn fitting(values: &[f64]) -> Self {
        let (min, max) = ends(values);
        if min > 0.0 && max / min > 10.0 { Self::log(min, max) } else { Self::from_zero(max) }
    }

    /// Logarithmic, between round numbers around `min` and `max`, both above zero.
    fn log(min: f64, max: f64) -> Self {
        let (min, max) = (min.clamp(MIN, MAX), max.clamp(MIN, MAX));
        let low = round_down(min);
        let high = round_up(max).max(low * 10.0);
        let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let within = |value: &f64| *value >= low * 0.999 && *value <= high * 1.001;
        let every = |factors: &[f64]| -> Vec<f64> {
            let of = |k: i32| factors.iter().map(move |factor| 10f64.powi(k) * factor);
            decades.clone().flat_map(of).filter(within).collect()
        };
        let mut ticks = every(&[1.0, 2.0, 5.0]);
        if ticks.len() > 9 {
            ticks = every(&[1.0]);
        }
        if ticks.len() > 9 {
            ticks = ticks.into_iter().step_by(3).collect();
        }
        Self { low: low.log10(), high: high.log10(), is_log: true, ticks, step: low }
    }

    /// An axis with a tick at each value. Logarithmic if they span a factor of 30, unless `from_zero` is set.
    pub fn at_points(values: &[f64], from_zero: bool) -> Self {
        let mut ticks: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let (min, max) = ends(&ticks);
        let is_log = !from_zero && min > 0.0 && max / min >= 30.0;
        let (low, high) = if is_log { (min.log10(), max.log10()) } else { (if from_zero { 0.0 } else { min }, max) };
        let (low, high) = if high > low { (low, high) } else { (low - 1.0, low + 1.0) };
        // Keeps markers off the frame.
        let margin = (high - low) * 0.03;
        Self { low: if from_zero { low } else { low - margin }, high: high + margin, is_log, ticks, step: min }
    }

    pub fn place(&self, value: f64) -> f64 {
        let value = if self.is_log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let place = (value - self.low) / (self.high - self.low);
        if place.is_nan() { 0.0 } else { place.clamp(0.0, 1.0) }
    }

    pub fn with_ticks(&self, ticks: Vec<f64>) -> Self {
        Self { ticks, ..self.clone() }
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max))
}

/// The smallest of 1, 2, 5, 10, ... not below the value.
fn round_up(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0].map(|factor| factor * decade).into_iter().find(|r| *r >= value * 0.999_999).unwrap_or(10.0 * decade)
}

/// The largest of 1, 2, 5, 10, ... not above the value.
fn round_down(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0].map(|factor| factor * decade).into_iter().find(|r| *r <= value * 1.000_001).unwrap_or(decade)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(Scale::from_zero(98.3).ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Scale::from_zero(0.0).ticks.first(), Some(&0.0));
        let scale = Scale::fitting(&[57.8, 8090.0]);
        assert!(scale.is_log);
        assert_eq!(scale.ticks, [50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0]);
        assert!(!Scale::fitting(&[100.0, 1000.0]).is_log && !Scale::fitting(&[0.0, 1000.0]).is_log);
        assert!(Scale::at_points(&[10.0, 500.0], false).is_log && !Scale::at_points(&[1.0, 40.0], true).is_log);
        assert_eq!(Scale::at_points(&[80.0, 10.0, 80.0], false).ticks, [10.0, 80.0]);
    }

    #[test]
    fn equal_factors_are_equal_distances_on_a_log_scale() {
        let scale = Scale::fitting(&[1.0, 100.0]);
        let of = |value| scale.place(value);
        assert!((of(10.0) - of(1.0) - (of(100.0) - of(10.0))).abs() < 1e-9);
        assert_eq!((of(1.0), of(100.0), of(10.0)), (0.0, 1.0, 0.5));
    }

    proptest! {
        #[test]
        fn every_value_has_a_place_between_few_ticks(values in proptest::collection::vec(proptest::num::f64::ANY, 0..9)) {
            for scale in [Scale::fitting(&values), Scale::at_points(&values, false), Scale::at_points(&values, true)] {
                prop_assert!(values.iter().all(|value| (0.0..=1.0).contains(&scale.place(*value))), "{scale:?}");
            }
            let scale = Scale::fitting(&values);
            prop_assert!((2..=12).contains(&scale.ticks.len()), "{scale:?}");
            prop_assert!(scale.ticks.is_sorted_by(|a, b| scale.place(*a) < scale.place(*b)), "{scale:?}");
        }
    }
}
