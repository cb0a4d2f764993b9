//! Student's t distribution. Degrees of freedom are above 0 and need not be whole.

use statrs::function::beta::beta_reg;

/// Probability of a value at least as far from 0 as `t`, in either direction (Abramowitz and Stegun 26.7.1).
pub fn two_sided(t: f64, df: f64) -> f64 {
    beta_reg(df / 2.0, 0.5, df / (df + t * t))
}

/// Mean of values and its squared standard error; `None` for fewer than two.
pub fn mean(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((mean, squares / (n - 1.0) / n))
}

/// The `t` that is exceeded in either direction with probability `1 - confidence`: 1.96 for 0.95 and large `df`.
pub fn two_sided_quantile(confidence: f64, df: f64) -> f64 {
    let beyond = (1.0 - confidence).clamp(1e-300, 1.0);
    super::least(|t| two_sided(t, df) <= beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_degree_of_freedom_is_cauchy_and_many_are_normal() {
        for t in [0.1, 1.0, 12.7] {
            let cauchy = 1.0 - 2.0 * f64::atan(t) / std::f64::consts::PI;
            assert!((two_sided(t, 1.0) - cauchy).abs() < 1e-14 && two_sided(-t, 1.0) == two_sided(t, 1.0));
        }
        assert!((two_sided_quantile(0.95, 1e7) - 1.959_964).abs() < 1e-5);
        assert_eq!(two_sided(0.0, 4.0), 1.0);
    }

    proptest! {
        #[test]
        fn quantile_inverts_probability(confidence in 0.01f64..0.9999, df in 1.0f64..500.0) {
            let t = two_sided_quantile(confidence, df);
            prop_assert!((1.0 - two_sided(t, df) - confidence).abs() < 1e-9);
        }
    }
}
