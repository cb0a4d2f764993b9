//! Delays and faults by trigger or by schedule, drawn from a seed: the same seed, requests and worker draw the same.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use std::time::{Duration, Instant};

/// No draw is longer, whatever its distribution says.
const LONGEST: Duration = Duration::from_secs(3600);

/// When something happens: always, unless a condition says otherwise; several must all hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct When {
    /// With this probability.
    pub share: Option<f64>,
    /// To each so-many-th request that a worker gets.
    pub every: Option<u64>,
    /// Not before the server has run so long.
    pub after: Option<Duration>,
    /// And then for so long.
    pub lasts: Option<Duration>,
}

impl When {
    pub fn trigger(&self, seed: u64, started: Instant) -> Trigger {
        Trigger { when: self.clone(), random: Xoshiro256PlusPlus::seed_from_u64(seed), count: 0, started }
    }
}

/// Tells of one request after another whether it is hit.
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
        // Drawn in any case, so that a window of time does not shift the draws.
        let drawn = share.is_none_or(|share| unit(&mut self.random) < share);
        let due = every.is_none_or(|every| self.count.is_multiple_of(every));
        let now = || self.started.elapsed();
        let begun = |after: Duration| now() >= after;
        let going = |lasts: Duration| now() < after.unwrap_or_default().saturating_add(lasts);
        drawn && due && after.is_none_or(begun) && lasts.is_none_or(going)
    }
}

/// How long an answer is held back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Delay {
    /// So long.
    Constant(Duration),
    /// Anything from the first to the second, all alike.
    Uniform(Duration, Duration),
    /// exp(normal): half of the delays are below the median; sigma is the deviation of the logarithm.
    Lognormal { median: Duration, sigma: f64 },
    /// The second with the probability `share`, else the first.
    Bimodal { usual: Duration, rare: Duration, share: f64 },
}

/// DelaySampler one delay after another.
pub(crate) struct DelaySampler {
    delay: Delay,
    random: Xoshiro256PlusPlus,
}

impl DelaySampler {
    pub fn new(delay: Delay, seed: u64) -> Self {
        Self { delay, random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    pub fn draw(&mut self) -> Duration {
        let drawn = match self.delay {
            Delay::Constant(delay) => delay,
            Delay::Uniform(low, high) => low + high.saturating_sub(low).mul_f64(unit(&mut self.random)),
            Delay::Lognormal { median, sigma } => {
                let seconds = median.as_secs_f64() * (sigma * normal(&mut self.random)).exp();
                Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST)
            }
            Delay::Bimodal { usual, rare, share } => {
                if unit(&mut self.random) < share {
                    rare
                } else {
                    usual
                }
            }
        };
        drawn.min(LONGEST)
    }
}

/// From 0 up to, and without, 1.
pub(crate) fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Of the standard normal distribution (Box and Muller, 1958).
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
    fn delays_have_the_distribution_that_was_asked_for() {
        let ms = Duration::from_millis;
        let uniform = sorted(Delay::Uniform(ms(10), ms(30)));
        assert!(uniform[0] >= ms(10) && uniform[20_000] <= ms(30));
        assert!(uniform[10_000].abs_diff(ms(20)) < Duration::from_micros(500), "{:?}", uniform[10_000]);
        let lognormal = sorted(Delay::Lognormal { median: ms(10), sigma: 0.5 });
        assert!(lognormal[10_000].abs_diff(ms(10)) < Duration::from_micros(300), "{:?}", lognormal[10_000]);
        // Where a normal distribution has 1.2816 deviations, 90 % are below.
        let p90 = Duration::from_secs_f64(0.010 * (0.5f64 * 1.2816).exp());
        assert!(lognormal[18_000].abs_diff(p90) < Duration::from_millis(1), "{:?}, not {p90:?}", lognormal[18_000]);
        let bimodal = sorted(Delay::Bimodal { usual: ms(1), rare: ms(100), share: 0.1 });
        let rare = bimodal.iter().filter(|delay| **delay == ms(100)).count();
        assert!((1800..2200).contains(&rare), "{rare}");
        assert_eq!(sorted(Delay::Constant(ms(3)))[5], ms(3));
        let endless = sorted(Delay::Lognormal { median: Duration::from_secs(3000), sigma: 100.0 });
        assert_eq!(*endless.last().unwrap(), LONGEST);
    }

    #[test]
    fn chances_hit_as_often_as_they_say() {
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

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = |seed| {
            let mut draws = DelaySampler::new(Delay::Uniform(Duration::ZERO, Duration::from_secs(1)), seed);
            [draws.draw(), draws.draw(), draws.draw()]
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
