//! Student's t distribution: what the mean of a few values may be off by when their spread is known from them alone.

/// The probability of a value below `t` with `df` degrees of freedom (above 0, need not be whole).
pub fn cdf(t: f64, df: f64) -> f64 {
    if t > 0.0 { 1.0 - tail(t, df) } else { tail(-t, df) }
}

/// The probability of a value as far from 0 as `t` on either side.
pub fn two_sided(t: f64, df: f64) -> f64 {
    (2.0 * tail(t.abs(), df)).min(1.0)
}

/// The value that is exceeded on either side with the probability `1 - confidence`: 1.96 for 0.95 and many degrees.
pub fn two_sided_quantile(confidence: f64, df: f64) -> f64 {
    let beyond = ((1.0 - confidence) / 2.0).clamp(1e-300, 0.5);
    let mut high = 1.0;
    while tail(high, df) > beyond && high < 1e300 {
        high *= 2.0;
    }
    let mut low = 0.0;
    // Each step halves the interval; beyond the digits of a float there is nothing left to halve.
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        match tail(middle, df) > beyond {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The probability beyond `t >= 0` (Abramowitz and Stegun 26.7.1, by 26.5.27).
fn tail(t: f64, df: f64) -> f64 {
    0.5 * incomplete_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// The regularised incomplete beta function, by its continued fraction (Abramowitz and Stegun 26.5.8).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast on one side; symmetry (26.5.2) leads there.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta_fraction(1.0 - x, b, a);
    }
    incomplete_beta_fraction(x, a, b)
}

fn incomplete_beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    // Lentz's method: numerator and denominator as ratios, so that neither overflows.
    let safe = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / safe(1.0 + term * d);
            c = safe(1.0 + term / c);
            step = c * d;
            fraction *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function for positive values: Lanczos 1964, the coefficients for g = 7 and nine terms.
fn ln_gamma(x: f64) -> f64 {
    const FIRST: f64 = 0.999_999_999_999_809_9;
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = TERMS.iter().zip(1..).fold(FIRST, |sum, (term, i)| sum + term / (x + f64::from(i)));
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_degree_is_cauchys_distribution_and_many_are_the_normal_one() {
        for t in [0.1, 1.0, 12.7] {
            let cauchy = 0.5 + f64::atan(t) / std::f64::consts::PI;
            assert!((cdf(t, 1.0) - cauchy).abs() < 1e-14 && (cdf(-t, 1.0) + cauchy - 1.0).abs() < 1e-14);
        }
        assert!((two_sided_quantile(0.95, 1e7) - 1.959_964).abs() < 1e-5);
        assert_eq!(two_sided(0.0, 4.0), 1.0);
    }

    proptest! {
        #[test]
        fn the_quantile_is_where_the_probability_says(confidence in 0.01f64..0.9999, df in 1.0f64..500.0) {
            let t = two_sided_quantile(confidence, df);
            prop_assert!((1.0 - two_sided(t, df) - confidence).abs() < 1e-9);
        }
    }
}
