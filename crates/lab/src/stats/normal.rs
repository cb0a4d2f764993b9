//! The normal distribution with mean 0 and variance 1.

/// Beyond it nothing is left within the digits of a probability.
const FAR: f64 = 8.3;

/// The probability of a value below `z` (Marsaglia 2004).
pub fn cdf(z: f64) -> f64 {
    if z.abs() > FAR {
        return if z > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut sum, mut term, mut odd) = (z, z, 1.0);
    loop {
        odd += 2.0;
        term *= z * z / odd;
        let longer = sum + term;
        if longer == sum {
            return 0.5 + sum * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        }
        sum = longer;
    }
}

/// The value below which others lie with probability `p`, as far as there is one: within ±8.3.
pub fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-FAR, FAR);
    // Each step halves the interval; beyond the digits of a float there is nothing left to halve.
    for _ in 0..60 {
        let middle = low + (high - low) / 2.0;
        match cdf(middle) < p {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}
