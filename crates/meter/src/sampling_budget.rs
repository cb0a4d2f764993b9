//! How often the meter may look: a look that took long is not taken again soon, so that metering stays cheap whatever the
//! size of the target.

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// A look costs at most one part in so many of the time until the next, in CPU: three kinds of look stay below 1 % of a core.
const SHARE: u32 = 400;

/// The ration of one kind of look.
#[derive(Debug, Default)]
pub(crate) struct SamplingBudget {
    next: Option<Instant>,
}

impl SamplingBudget {
    /// Looks, if it is time to.
    pub(crate) fn take<T>(&mut self, look: impl FnOnce() -> T) -> Option<T> {
        let due = self.next.is_none_or(|next| Instant::now() >= next);
        due.then(|| self.spend(look))
    }

    /// Looks, and remembers what it cost.
    pub(crate) fn spend<T>(&mut self, look: impl FnOnce() -> T) -> T {
        let before = cpu();
        let seen = look();
        self.next = Some(Instant::now() + SHARE * cpu().saturating_sub(before));
        seen
    }

    /// When the next look is due at the earliest, from now.
    #[cfg(test)]
    fn pause(&self) -> Duration {
        self.next.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }
}

/// CPU time of this thread: what others do meanwhile on its core is no cost of the look.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The newest of a row of rationed looks.
#[derive(Debug)]
pub(crate) struct Sampler<T> {
    ration: SamplingBudget,
    at: Instant,
    newest: T,
}

impl<T> Sampler<T> {
    /// Looks for the first time.
    pub(crate) fn first(look: impl FnOnce() -> T) -> Self {
        let mut ration = SamplingBudget::default();
        let newest = ration.spend(look);
        Self { ration, at: Instant::now(), newest }
    }

    /// Looks again, if it is time to; gives the look before and how long ago it was, in seconds.
    pub(crate) fn again(&mut self, look: impl FnOnce() -> T) -> Option<(T, f64)> {
        let newest = self.ration.take(look)?;
        let at = Instant::now();
        let passed = at.duration_since(std::mem::replace(&mut self.at, at));
        Some((std::mem::replace(&mut self.newest, newest), passed.as_secs_f64().max(1e-9)))
    }

    /// What was seen last.
    pub(crate) fn newest(&self) -> &T {
        &self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burn() {
        let before = cpu();
        while cpu() - before < Duration::from_millis(20) {}
    }

    /// What comes within a second or two: an interrupt may make a cheap look a dearer one.
    fn soon<T>(mut take: impl FnMut() -> Option<T>) -> T {
        let after = |_| {
            std::thread::sleep(Duration::from_millis(50));
            take()
        };
        (0..40).find_map(after).expect("a cheap look is not repeated")
    }

    #[test]
    fn a_dear_look_is_not_repeated_soon_and_a_cheap_one_is() {
        let mut ration = SamplingBudget::default();
        assert_eq!(ration.take(burn), Some(()));
        // Eight seconds; a busy machine lets some of them pass.
        assert!(ration.pause() > Duration::from_secs(1), "{:?}", ration.pause());
        assert_eq!(ration.take(|| ()), None);
        let mut ration = SamplingBudget::default();
        assert_eq!(ration.take(|| 7), Some(7));
        assert_eq!(soon(|| ration.take(|| 8)), 8);
    }

    #[test]
    fn a_sampler_gives_the_look_before_with_the_time_between() {
        let mut sampler = Sampler::first(|| 1);
        let (before, seconds) = soon(|| sampler.again(|| 2));
        assert_eq!((before, *sampler.newest()), (1, 2));
        assert!(seconds >= 0.05, "{seconds}");
        assert!(Sampler::first(burn).again(|| ()).is_none());
    }
}
