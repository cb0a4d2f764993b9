//! Limits the CPU time of sampling: an expensive sample is not repeated soon, so that metering stays cheap for targets of any
//! size.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Least ratio of the time until the next sample to the CPU time of the last: three kinds of sample stay below 1 % of a core.
const SHARE: u32 = 400;

#[derive(Debug, Clone, Default)]
pub struct SamplingBudget {
    next: Option<Instant>,
}

impl SamplingBudget {
    /// Samples, if due.
    pub fn take<T>(&mut self, sample: impl FnOnce() -> T) -> Option<T> {
        let due = self.next.is_none_or(|next| Instant::now() >= next);
        due.then(|| self.spend(sample))
    }

    /// Samples, due or not, and charges the cost.
    pub fn spend<T>(&mut self, sample: impl FnOnce() -> T) -> T {
        let before = cpu();
        let taken = sample();
        self.next = Some(Instant::now() + SHARE * cpu().saturating_sub(before));
        taken
    }
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The newest of a series of budgeted samples.
#[derive(Debug)]
pub(crate) struct Sampler<T> {
    budget: SamplingBudget,
    at: Instant,
    pub(crate) newest: T,
}

impl<T> Sampler<T> {
    pub(crate) fn first(sample: impl FnOnce() -> T) -> Self {
        let mut budget = SamplingBudget::default();
        let newest = budget.spend(sample);
        Self { budget, at: Instant::now(), newest }
    }

    /// Samples again, if due. Returns the previous sample and its age in seconds.
    pub(crate) fn again(&mut self, sample: impl FnOnce() -> T) -> Option<(T, f64)> {
        let newest = self.budget.take(sample)?;
        let at = Instant::now();
        let passed = at.duration_since(std::mem::replace(&mut self.at, at));
        Some((std::mem::replace(&mut self.newest, newest), passed.as_secs_f64().max(1e-9)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burn() {
        let end = cpu() + Duration::from_millis(20);
        while cpu() < end {}
    }

    /// Retries for two seconds: an interrupt can make a cheap sample expensive.
    fn soon<T>(mut take: impl FnMut() -> Option<T>) -> T {
        let pause = |_| std::thread::sleep(Duration::from_millis(50));
        (0..40).map(pause).find_map(|()| take()).expect("a cheap sample is not repeated")
    }

    #[test]
    fn an_expensive_sample_is_not_repeated_soon_and_a_cheap_one_is_with_the_previous_and_its_age() {
        let mut budget = SamplingBudget::default();
        assert_eq!(budget.take(burn), Some(()));
        // Eight seconds; a busy machine lets some of them pass.
        let next = budget.next.unwrap();
        assert!(next > Instant::now() + Duration::from_secs(1), "{:?}", next - Instant::now());
        assert_eq!(budget.take(|| ()), None);
        let mut budget = SamplingBudget::default();
        assert_eq!(budget.take(|| 7), Some(7));
        assert_eq!(soon(|| budget.take(|| 8)), 8);
        let mut sampler = Sampler::first(|| 1);
        let (before, seconds) = soon(|| sampler.again(|| 2));
        assert_eq!((before, sampler.newest), (1, 2));
        assert!(seconds >= 0.05, "{seconds}");
        assert!(Sampler::first(burn).again(|| ()).is_none());
    }
}
