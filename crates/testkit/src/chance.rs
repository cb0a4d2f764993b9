//! Seeded random numbers of distributions, and experiments by the thousand.
//!
//! `#[inline]` lets a crate that is optimised compile them optimised, as its simulations draw millions.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::thread;

/// A generator of random numbers; the same seed gives the same numbers.
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    /// The state follows from the seed alone.
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Above 0, at most 1.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Above `low`, at most `high`.
    #[inline]
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Box-Muller transform.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    /// Waiting time of a Poisson process.
    #[inline]
    pub fn wait(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// A whole number from 0, below `count`.
    #[inline]
    pub fn below(&mut self, count: usize) -> usize {
        (self.0.next_u64() % count as u64) as usize
    }

    /// True or false alike.
    #[inline]
    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Every order is as likely.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for index in (1..values.len()).rev() {
            values.swap(index, self.below(index + 1));
        }
    }

    /// Lognormal values around `middle`.
    #[inline]
    pub fn repeats(&mut self, count: usize, middle: f64, spread: f64) -> Vec<f64> {
        (0..count).map(|_| middle * (spread * self.normal()).exp()).collect()
    }

    /// An AR(1) series with autocorrelation `like`, mean 0 and variance 1.
    #[inline]
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

/// What `experiment` returns for the seeds from 1 to `count`, on all cores.
pub fn experiments<T: Send>(count: u64, experiment: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let experiment = &experiment;
    thread::scope(|scope| {
        let part = |thread: u64| {
            scope.spawn(move || (1..=count).filter(|seed| seed % threads == thread).map(experiment).collect::<Vec<T>>())
        };
        let parts: Vec<_> = (0..threads).map(part).collect();
        parts.into_iter().flat_map(|part| part.join().expect("experiments do not panic")).collect()
    })
}

/// Share of the cases for which `so` is true.
pub fn share<T>(cases: &[T], so: impl Fn(&T) -> bool) -> f64 {
    cases.iter().filter(|case| so(case)).count() as f64 / cases.len() as f64
}

/// Share of `runs` for which `so` is true.
pub fn share_of(runs: u32, mut so: impl FnMut() -> bool) -> f64 {
    f64::from((0..runs).map(|_| u32::from(so())).sum::<u32>()) / f64::from(runs)
}
