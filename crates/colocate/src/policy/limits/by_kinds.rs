//! Limits by the kinds of the jobs that run: what is too much of jobs that stream through memory is not too much of jobs that compute
//! in registers.

use super::{Known, Limits};
use crate::readings::Kinds;
use std::time::Duration;

/// Those of each set of kinds that has run. Nothing is concluded from one set to another.
#[derive(Debug, Clone)]
pub struct LimitsByKinds {
    /// There is one at least.
    all: Vec<(Kinds, Limits)>,
    now: usize,
    /// When it was last known which jobs run.
    seen: Duration,
}

impl Default for LimitsByKinds {
    fn default() -> Self {
        Self { all: vec![(Kinds::default(), Limits::default())], now: 0, seen: Duration::ZERO }
    }
}

impl LimitsByKinds {
    /// Jobs of these kinds run now. What was too much of others is a guess for jobs of which nothing is known. False if such jobs ran
    /// before, or none run.
    pub fn run(&mut self, now: Duration, load: Option<f64>, kinds: Kinds) -> bool {
        let time = now.saturating_sub(std::mem::replace(&mut self.seen, now));
        if kinds.is_empty() || self.all[self.now].0 == kinds {
            self.all[self.now].1.pass(time, load);
            return false;
        }
        let found = self.all.iter().position(|(known, _)| *known == kinds);
        self.now = found.unwrap_or_else(|| {
            let mut limits = Limits::default();
            if let Some(cores) = self.at(now, load) {
                limits.guess(now, cores);
            }
            self.all.push((kinds, limits));
            self.all.len() - 1
        });
        true
    }

    /// Of the jobs that run.
    pub fn broke(&mut self, now: Duration, load: Option<f64>, cores: f64) {
        self.all[self.now].1.broke(now, load, cores);
    }

    /// Of the jobs that run.
    pub fn doubt(&mut self, now: Duration) {
        self.all[self.now].1.doubt(now);
    }

    /// Of the jobs that run.
    pub fn at(&self, now: Duration, load: Option<f64>) -> Option<f64> {
        self.all[self.now].1.at(now, load)
    }

    /// Of the jobs that run.
    pub fn all_known(&self) -> impl Iterator<Item = f64> {
        self.all[self.now].1.all_known()
    }

    /// Of all jobs that have run.
    pub fn known(&self, now: Duration) -> Vec<(Kinds, Known)> {
        let all = self.all.iter();
        all.flat_map(|(kinds, limits)| limits.known(now).into_iter().map(|known| (*kinds, known))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::limits::GUESS;

    #[test]
    fn what_is_too_much_of_one_kind_is_a_guess_for_another() {
        let [of_memory, of_cpu] = [Kinds::default().with(0), Kinds::default().with(1)];
        let both = of_memory.with(1);
        let (mut limits, mut now) = (LimitsByKinds::default(), Duration::from_secs(100));
        limits.run(now, Some(0.5), of_memory);
        limits.broke(now, Some(0.5), 0.5);
        limits.run(now, Some(0.5), of_cpu);
        assert_eq!(limits.at(now, Some(0.5)), Some(0.5));
        now += GUESS;
        limits.run(now, Some(0.5), of_cpu);
        assert_eq!(limits.at(now, Some(0.5)), None);
        limits.broke(now, Some(0.5), 1.5);
        // No job runs: whatever ran before may be back.
        limits.run(now, Some(0.5), Kinds::default());
        assert_eq!(limits.at(now, Some(0.5)), Some(1.5));
        limits.run(now, Some(0.5), both);
        assert_eq!(limits.at(now, Some(0.5)), Some(1.5));
        limits.run(now, Some(0.5), of_memory);
        assert!(limits.at(now, Some(0.5)).is_some_and(|cores| cores < 0.6));
        assert_eq!(limits.at(now, Some(0.2)), None);
        let told: Vec<Kinds> = limits.known(now).into_iter().map(|(kinds, _)| kinds).collect();
        assert_eq!(told, [of_memory, of_cpu, both]);
    }
}
