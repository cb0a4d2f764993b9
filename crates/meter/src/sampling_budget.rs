//! Limits the CPU time of sampling: an expensive sample is not repeated soon, so that metering stays cheap for targets of any
//! size.

use crate::thread_cpu::thread_cpu;
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
        self.is_due(Instant::now()).then(|| self.spend(sample))
    }

    fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    /// Samples, due or not, and charges the cost.
    pub fn spend<T>(&mut self, sample: impl FnOnce() -> T) -> T {
        let before = thread_cpu();
        let taken = sample();
        self.charge(Instant::now(), thread_cpu().saturating_sub(before));
        taken
    }

    fn charge(&mut self, now: Instant, cost: Duration) {
        self.next = Some(now + SHARE * cost);
    }
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

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn an_expensive_sample_is_not_repeated_soon_and_a_cheap_one_is() {
        let mut budget = SamplingBudget::default();
        let now = Instant::now();
        assert!(budget.is_due(now));
        budget.charge(now, 20 * MS);
        assert!(!budget.is_due(now + 7999 * MS) && budget.is_due(now + 8000 * MS));
        budget.charge(now, Duration::ZERO);
        assert!(budget.is_due(now));
    }

    #[test]
    fn a_sample_is_charged_with_its_cpu_time() {
        let burn = || {
            let end = thread_cpu() + 20 * MS;
            while thread_cpu() < end {}
        };
        let begun = Instant::now();
        let mut budget = SamplingBudget::default();
        assert_eq!(budget.take(burn), Some(()));
        assert!(!budget.is_due(begun + 7999 * MS));
        let sampler = Sampler::first(burn);
        assert!(!sampler.budget.is_due(begun + 7999 * MS));
    }

    #[test]
    fn a_cheap_sample_is_repeated_with_the_previous_and_its_age() {
        let begun = Instant::now();
        let mut sampler = Sampler::first(|| 1);
        // An interrupt can make a cheap sample expensive.
        let (before, seconds) = brunt_testkit::until_some("it is due", || sampler.again(|| 2));
        assert_eq!((before, sampler.newest), (1, 2));
        assert!(seconds > 0.0 && seconds <= begun.elapsed().as_secs_f64(), "{seconds}");
    }
}
