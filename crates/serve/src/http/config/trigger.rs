//! When a fault is injected and how long a response is delayed: random numbers from a seed. The same seed, requests and
//! worker give the same sequence.

use brunt_runtime::time;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::{Duration, Instant};

/// Longest delay of any distribution.
const MAX_DELAY: Duration = Duration::from_secs(3600);

/// Conditions of a fault; all of them must hold. Without conditions it is injected always.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct When {
    pub share: Option<f64>,
    /// Every n-th request of a worker.
    pub every: Option<u64>,
    /// Time since the start of the server.
    pub after: Option<Duration>,
    /// Length of the period that begins after [`after`](Self::after).
    pub lasts: Option<Duration>,
}

impl When {
    pub fn trigger(&self, seed: u64, started: Instant) -> Trigger {
        Trigger { when: self.clone(), random: Xoshiro256PlusPlus::seed_from_u64(seed), count: 0, started }
    }
}

/// Evaluates a [`When`] for one request after another.
pub(crate) struct Trigger {
    when: When,
    random: Xoshiro256PlusPlus,
    count: u64,
    started: Instant,
}

impl Trigger {
    pub fn hits(&mut self) -> bool {
        self.count += 1;
        let When { share, every, after, lasts } = self.when;
        // Always drawn, so that a time window does not shift the sequence.
        let drawn = share.is_none_or(|share| unit(&mut self.random) < share);
        let due = every.is_none_or(|every| self.count.is_multiple_of(every));
        let now = || time::now() - self.started;
        let has_begun = |after: Duration| now() >= after;
        let goes_on = |lasts: Duration| now() < after.unwrap_or_default().saturating_add(lasts);
        drawn && due && after.is_none_or(has_begun) && lasts.is_none_or(goes_on)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Delay {
    Constant(Duration),
    Uniform(Duration, Duration),
    /// exp(normal); `sigma` is the standard deviation of the logarithm.
    Lognormal {
        median: Duration,
        sigma: f64,
    },
    /// `rare` with the probability `share`, otherwise `usual`.
    Bimodal {
        usual: Duration,
        rare: Duration,
        share: f64,
    },
}

pub(crate) struct DelaySampler {
    delay: Delay,
    random: Xoshiro256PlusPlus,
}

impl DelaySampler {
    pub fn new(delay: Delay, seed: u64) -> Self {
        Self { delay, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    pub fn draw(&mut self) -> Duration {
        let random = &mut self.random;
        let drawn = match self.delay {
            Delay::Constant(delay) => delay,
            Delay::Uniform(low, high) => low + high.saturating_sub(low).mul_f64(unit(random)),
            Delay::Lognormal { median, sigma } => {
                Duration::try_from_secs_f64(median.as_secs_f64() * (sigma * normal(random)).exp()).unwrap_or(MAX_DELAY)
            }
            Delay::Bimodal { rare, share, .. } if unit(random) < share => rare,
            Delay::Bimodal { usual, .. } => usual,
        };
        drawn.min(MAX_DELAY)
    }
}

/// Uniform in [0, 1).
pub(crate) fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Standard normal (Box and Muller, 1958).
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (first, second) = (1.0 - unit(random), unit(random));
    (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(delay: Delay) -> Vec<Duration> {
        let mut draws = DelaySampler::new(delay, 7);
        let mut all: Vec<_> = (0..20_001).map(|_| draws.draw()).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn delays_follow_their_distribution_and_their_seed() {
        let ms = Duration::from_millis;
        let uniform = sorted(Delay::Uniform(ms(10), ms(30)));
        assert!(uniform[0] >= ms(10) && uniform[20_000] <= ms(30));
        assert!(uniform[10_000].abs_diff(ms(20)) < Duration::from_micros(500), "{:?}", uniform[10_000]);
        let lognormal = sorted(Delay::Lognormal { median: ms(10), sigma: 0.5 });
        assert!(lognormal[10_000].abs_diff(ms(10)) < Duration::from_micros(300), "{:?}", lognormal[10_000]);
        // The 90th percentile of a standard normal distribution is 1.2816.
        let p90 = Duration::from_secs_f64(0.010 * (0.5f64 * 1.2816).exp());
        assert!(lognormal[18_000].abs_diff(p90) < Duration::from_millis(1), "{:?}, not {p90:?}", lognormal[18_000]);
        let bimodal = sorted(Delay::Bimodal { usual: ms(1), rare: ms(100), share: 0.1 });
        let rare = bimodal.iter().filter(|delay| **delay == ms(100)).count();
        assert!((1800..2200).contains(&rare), "{rare}");
        assert_eq!(sorted(Delay::Constant(ms(3)))[5], ms(3));
        let endless = sorted(Delay::Lognormal { median: Duration::from_secs(3000), sigma: 100.0 });
        assert_eq!(*endless.last().unwrap(), MAX_DELAY);
        let draw = |seed| {
            let mut draws = DelaySampler::new(Delay::Uniform(Duration::ZERO, Duration::from_secs(1)), seed);
            [draws.draw(), draws.draw(), draws.draw()]
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }

    #[test]
    fn triggers_hit_at_their_rate() {
        let hits = |when: When, started: Instant| {
            let mut trigger = when.trigger(1, started);
            (0..10_000).filter(|_| trigger.hits()).count()
        };
        let now = Instant::now();
        assert_eq!(hits(When::default(), now), 10_000);
        assert_eq!(hits(When { every: Some(10), ..When::default() }, now), 1000);
        let share = hits(When { share: Some(0.3), ..When::default() }, now);
        assert!((2800..3200).contains(&share), "{share}");
        let hour = Some(Duration::from_secs(3600));
        assert_eq!(hits(When { after: hour, ..When::default() }, now), 0);
        assert_eq!(hits(When { lasts: hour, ..When::default() }, now), 10_000);
        assert_eq!(hits(When { lasts: Some(Duration::ZERO), ..When::default() }, now), 0);
    }
}
