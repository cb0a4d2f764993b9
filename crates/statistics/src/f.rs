//! F distribution, of the ratio of two variances. Degrees of freedom are above 0.

use statrs::function::beta::beta_reg;

/// Probability of a ratio of at least `value`, `over` and `under` the degrees of freedom of its variances (Abramowitz and Stegun
/// 26.6.2).
pub fn beyond(value: f64, over: f64, under: f64) -> f64 {
    beta_reg(under / 2.0, over / 2.0, under / (under + over * value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_tables() {
        for (value, over, under, p) in
            [(29.457, 3.0, 3.0, 0.01), (2.922, 3.0, 30.0, 0.05), (4.51, 3.0, 30.0, 0.01), (1.0, 9.0, 9.0, 0.5)]
        {
            assert!((beyond(value, over, under) - p).abs() < 1e-4, "{value} {over} {under}");
        }
    }
}
