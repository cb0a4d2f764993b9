//! Slices made to order: targets with known figures and a little noise.

use brunt_results::hlog::encode;
use brunt_results::latency::new_histogram;
use brunt_slices::{LoadComparison, Settings, Slice, SlicedLoad, compare};
use brunt_testkit::chance::Chance;

/// Figures of one target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Replies in a window of 100 ms.
    pub replies: f64,
    pub cpu_us: f64,
    /// Mean of the response times, which are exponential.
    pub mean_us: f64,
}

pub const BASE: Target = Target { name: "base", replies: 2000.0, cpu_us: 20.0, mean_us: 100.0 };

/// A target called `one` with these multiples of the baseline's figures.
pub fn one(rate: f64, cost: f64, latency: f64) -> Target {
    Target { name: "one", replies: BASE.replies * rate, cpu_us: BASE.cpu_us * cost, mean_us: BASE.mean_us * latency }
}

/// What every slice is made of.
#[derive(Debug, Clone, Copy)]
pub struct Recipe {
    pub starts: u32,
    /// Of each start.
    pub rounds: u32,
    /// Standard deviation of the logarithm of every figure.
    pub noise: f64,
}

impl Default for Recipe {
    fn default() -> Self {
        Self { starts: 1, rounds: 40, noise: 0.01 }
    }
}

/// Text of `count` exponential response times, of which the last `stalled` take 50 ms longer.
pub fn response(count: u64, mean_us: f64, stalled: u64) -> String {
    let mut histogram = new_histogram();
    for index in 0..count {
        let nanos = -mean_us * 1e3 * (1.0 - (index as f64 + 0.5) / count as f64).ln();
        let stall = if index + stalled >= count { 50_000_000 } else { 0 };
        histogram.record(nanos as u64 + stall).expect("within bounds");
    }
    encode(&histogram)
}

impl Recipe {
    pub fn slices(self, targets: &[Target]) -> Vec<Slice> {
        let mut chance = Chance::new(5);
        let mut slices = Vec::new();
        for start in 1..=self.starts {
            for round in 1..=self.rounds {
                let mut order = targets.to_vec();
                chance.shuffle(&mut order);
                for (position, target) in order.iter().enumerate() {
                    let mut noisy = |value: f64| value * (self.noise * chance.normal()).exp();
                    let completed = noisy(target.replies).round();
                    slices.push(Slice {
                        start,
                        round,
                        position: position as u32,
                        target: target.name.to_string(),
                        window_us: 100_000,
                        busy_us: 110_000,
                        completed: completed as u64,
                        replies: completed as u64,
                        server_cpu_us: Some(noisy(target.cpu_us) * completed),
                        generator_percent: 50.0,
                        response: response(completed as u64, noisy(target.mean_us), 0),
                        ..Slice::default()
                    });
                }
            }
        }
        slices
    }
}

pub const SETTINGS: Settings = Settings { margin: 0.03, precision: 0.015 };

/// Of a closed loop, with `base` as the baseline.
pub fn compared(slices: Vec<Slice>) -> LoadComparison {
    compared_with(slices, false, SETTINGS)
}

pub fn compared_with(slices: Vec<Slice>, open_loop: bool, settings: Settings) -> LoadComparison {
    let load = SlicedLoad { load: "connections=8".into(), open_loop, slices, ..SlicedLoad::default() };
    compare(&[load], &["base".into(), "one".into(), "two".into()], "base", settings).remove(0)
}
