//! Seeded random numbers: those of the tests of slices, and series of them.

#[path = "../slices/chance.rs"]
#[allow(dead_code)]
mod numbers;

pub use numbers::Chance;

impl Chance {
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
