//! Chi-square distribution. Degrees of freedom are above 0.

use statrs::function::gamma::gamma_lr;

/// The value that is not exceeded with probability `p`: 3.84 for 0.95 and one degree of freedom (Abramowitz and Stegun 26.4.1).
pub fn quantile(p: f64, df: f64) -> f64 {
    super::least(|value| gamma_lr(df / 2.0, value / 2.0) >= p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, df, value) in
            [(0.95, 1.0, 3.841), (0.025, 5.0, 0.831), (0.975, 5.0, 12.833), (0.025, 19.0, 8.907), (0.975, 19.0, 32.852)]
        {
            assert!((quantile(p, df) - value).abs() < 1e-3, "{p} {df}");
        }
    }
}
