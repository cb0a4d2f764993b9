//! Seeded random numbers.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Above 0, at most 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Box-Muller transform.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    /// Lognormal values around `middle`.
    pub fn repeats(&mut self, count: usize, middle: f64, spread: f64) -> Vec<f64> {
        (0..count).map(|_| middle * (spread * self.normal()).exp()).collect()
    }

    /// An AR(1) series with autocorrelation `like`, mean 0 and variance 1.
    pub fn series(&mut self, count: usize, like: f64) -> Vec<f64> {
        let mut last = self.normal();
        let rest = (1.0 - like * like).sqrt();
        let mut step = || {
            last = like * last + rest * self.normal();
            last
        };
        (0..count).map(|_| step()).collect()
    }
}

/// Share of `runs` for which `so` is true.
pub fn share_of(runs: u32, mut so: impl FnMut() -> bool) -> f64 {
    f64::from((0..runs).map(|_| u32::from(so())).sum::<u32>()) / f64::from(runs)
}
