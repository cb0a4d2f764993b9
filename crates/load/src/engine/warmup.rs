//! A warm-up that ends by rule, for [`Options::steady`]: once the figures of its last seconds have no drift.

use crate::{measure::recorder::SECOND_NS, options::Options};
use brunt_results::{drift, series::Second};
use std::time::Duration;

/// A warm-up whose end is not decided.
pub struct Warmup {
    start_ns: u64,
    limit_ns: u64,
    /// Completions before which some connections have had no turn; 0 in an open loop, which may leave most of them idle.
    turns: u64,
    seconds: Vec<Second>,
    is_steady: bool,
}

impl Warmup {
    /// `None` if the warm-up has a fixed length.
    pub fn new(options: &Options, start_ns: u64) -> Option<Self> {
        options.steady.then(|| Self {
            start_ns,
            limit_ns: start_ns + options.warmup.as_nanos() as u64,
            turns: if options.rate.is_none() { options.connections as u64 } else { 0 },
            seconds: Vec::new(),
            is_steady: false,
        })
    }

    /// Takes its next second. Its later half is judged, and at least as many seconds as a window needs.
    pub fn add(&mut self, second: &Second) {
        self.seconds.push(second.clone());
        let count = self.seconds.len();
        let later = (count / 2).min(count.saturating_sub(drift::MIN_SECONDS));
        let completed: u64 = self.seconds.iter().map(|second| second.completed).sum();
        self.is_steady = completed >= self.turns && drift::is_steady(&self.seconds[later..]);
    }

    /// Start of the window, if it is decided at `now_ns`: the end of a second of the warm-up, at least `notice` from now.
    pub fn end(&self, now_ns: u64, notice: Duration) -> Option<u64> {
        let elapsed = (now_ns + notice.as_nanos() as u64).saturating_sub(self.start_ns);
        let end = self.start_ns + elapsed.div_ceil(SECOND_NS) * SECOND_NS;
        (self.is_steady || end + SECOND_NS > self.limit_ns).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::valid;
    use proptest::prelude::*;

    const START: u64 = 7_000_000;
    const NOTICE: Duration = Duration::from_millis(50);

    /// Plays a warm-up of at most `limit` seconds with these rates; returns its length in seconds.
    fn play(limit: u64, connections: usize, rate: impl Fn(u64) -> f64) -> u64 {
        let options =
            Options { steady: true, warmup: Duration::from_secs(limit), connections, threads: vec![None], ..valid() };
        let mut warmup = Warmup::new(&options, START).unwrap();
        for second in 1.. {
            let now = START + second * SECOND_NS + 3_000_000;
            warmup.add(&Second {
                at_s: second as f64,
                warmup: true,
                completed: rate(second) as u64,
                ..Second::default()
            });
            if let Some(end) = warmup.end(now, NOTICE) {
                assert!(end >= now + NOTICE.as_nanos() as u64);
                assert_eq!((end - START) % SECOND_NS, 0);
                return (end - START) / SECOND_NS;
            }
        }
        unreachable!()
    }

    proptest! {
        #[test]
        fn a_steady_load_is_measured_soon_a_rising_one_later_and_none_after_the_limit(
            rate in 1e3..1e6, noise in 0.0..0.02, limit in 12u64..100, slope in 1u64..40,
        ) {
            let noisy = |second: u64, rate: f64| rate * (1.0 + noise * if second.is_multiple_of(2) { 1.0 } else { -1.0 });
            let soon = play(limit, 1, |second| noisy(second, rate));
            prop_assert!(soon <= 10, "{soon}");
            // Rises to its rate in a straight line.
            let rising = |second: u64| noisy(second, rate * (second.min(slope * 4) as f64 / (slope * 4) as f64));
            let late = play(limit, 1, rising);
            prop_assert!(late <= limit);
            prop_assert!(late >= limit - 1 || rising(late) > 0.85 * rate, "{late} of {slope}");
            // Each connection has its turn first.
            let turns = play(limit, (20.0 * rate) as usize, |_| rate);
            prop_assert!(turns >= limit.min(20) - 1, "{turns}");
        }
    }
}
