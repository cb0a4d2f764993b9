//! Random numbers of the distributions that the simulation needs.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Means above this are drawn from the normal distribution with the same mean and variance.
const LARGE: f64 = 30.0;

#[derive(Debug, Clone)]
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Standard normal, after Box and Muller (1958).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn poisson(&mut self, mean: f64) -> u64 {
        if mean > LARGE {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0) as u64;
        }
        // Arrivals of a Poisson process within a time of `mean`.
        let (mut count, mut time) = (0, self.exponential(1.0));
        while time < mean {
            count += 1;
            time += self.exponential(1.0);
        }
        count
    }

    /// Successes of `count` trials.
    pub fn binomial(&mut self, count: u64, probability: f64) -> u64 {
        if probability > 0.5 {
            return count - self.binomial(count, 1.0 - probability);
        }
        let mean = count as f64 * probability;
        if mean > LARGE {
            let deviation = (mean * (1.0 - probability)).sqrt();
            return (mean + deviation * self.normal()).round().clamp(0.0, count as f64) as u64;
        }
        if mean < 1e-9 {
            return 0;
        }
        // Trials up to the next success are geometric.
        let per_trial = (-probability).ln_1p();
        let (mut successes, mut trials) = (0, 0.0);
        loop {
            trials += (self.uniform().ln() / per_trial).ceil();
            if trials > count as f64 {
                return successes;
            }
            successes += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_variances_are_those_of_the_distributions() {
        let mut chance = Chance::new(1);
        let mut moments = |draw: &mut dyn FnMut(&mut Chance) -> f64| {
            let draws: Vec<f64> = (0..100_000).map(|_| draw(&mut chance)).collect();
            let mean = draws.iter().sum::<f64>() / 1e5;
            (mean, draws.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 1e5)
        };
        let mut check = |draw: &mut dyn FnMut(&mut Chance) -> f64, mean: f64, variance: f64| {
            let (found, varied) = moments(draw);
            // Five standard errors of the mean; the variance's are wider for all of these.
            assert!((found - mean).abs() < 5.0 * (variance / 1e5).sqrt() + 1e-3, "mean {found} of {mean}");
            assert!((varied / variance - 1.0).abs() < 0.05, "variance {varied} of {variance}");
        };
        check(&mut |chance| chance.exponential(2.0), 2.0, 4.0);
        for mean in [0.3, 8.0, 300.0] {
            check(&mut |chance| chance.poisson(mean) as f64, mean, mean);
        }
        for (count, probability) in [(10, 0.03), (200, 0.1), (500, 0.9), (40, 0.5)] {
            let mean = count as f64 * probability;
            check(&mut |chance| chance.binomial(count, probability) as f64, mean, mean * (1.0 - probability));
        }
    }
}
