//! How long a sliced run still takes, at most: until each load has used its budget. Loads whose comparisons are precise sooner
//! take less, which is known only once they are. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

/// Slices and all else of some starts.
#[derive(Debug, Clone, Copy, Default)]
struct Starts {
    number: u32,
    /// Time from the first request to the last reply.
    slices: Duration,
    /// Starts of which the time beside the slices is known, and that time.
    timed: u32,
    beside: Duration,
}

impl Starts {
    /// Of one start; no time if there was none.
    fn slices_each(&self) -> Option<Duration> {
        self.slices.checked_div(self.number).filter(|each| !each.is_zero())
    }

    fn beside_each(&self) -> Option<Duration> {
        self.beside.checked_div(self.timed)
    }
}

#[derive(Debug)]
struct Load {
    starts: Starts,
    /// Time of a start beside its slices, until one has been made: launching, warming up, stopping.
    assumed: Duration,
    is_done: bool,
}

#[derive(Debug)]
pub(super) struct TimeLeft {
    /// Time for the slices of one load.
    budget: Duration,
    /// Fewest starts of a load.
    starts: u32,
    loads: BTreeMap<String, Load>,
}

impl TimeLeft {
    pub(super) fn new(budget: Duration, starts: u32) -> Self {
        Self { budget, starts, loads: BTreeMap::new() }
    }

    /// Adds a load; `earlier` are the times of the slices of starts that it has already.
    pub(super) fn add(&mut self, load: &str, assumed: Duration, earlier: &[Duration]) {
        let starts = Starts { number: earlier.len() as u32, slices: earlier.iter().sum(), ..Starts::default() };
        self.loads.insert(load.to_owned(), Load { starts, assumed, is_done: false });
    }

    /// A start of a load took so long, of which its slices took so much.
    pub(super) fn observe(&mut self, load: &str, took: Duration, slices: Duration) {
        if let Some(Load { starts, .. }) = self.loads.get_mut(load) {
            starts.number += 1;
            starts.slices += slices;
            starts.timed += 1;
            starts.beside += took.saturating_sub(slices);
        }
    }

    /// A load has no more starts.
    pub(super) fn finish(&mut self, load: &str) {
        self.loads.entry(load.to_owned()).and_modify(|load| load.is_done = true);
    }

    pub(super) fn left(&self) -> Duration {
        let mut all = Starts::default();
        for Load { starts, .. } in self.loads.values() {
            all.number += starts.number;
            all.slices += starts.slices;
            all.timed += starts.timed;
            all.beside += starts.beside;
        }
        self.loads.values().filter(|load| !load.is_done).map(|load| self.left_of(load, &all)).sum()
    }

    /// Starts that a load has not made are like those it has made, else like those of all loads.
    fn left_of(&self, load: &Load, all: &Starts) -> Duration {
        let starts = &load.starts;
        let planned = self.budget / self.starts.max(1);
        let slices = starts.slices_each().or(all.slices_each()).unwrap_or(planned);
        let beside = starts.beside_each().or(all.beside_each()).unwrap_or(load.assumed);
        let rest = self.budget.saturating_sub(starts.slices);
        let fitting = rest.as_micros().checked_div(slices.as_micros()).unwrap_or_default();
        let more = u32::try_from(fitting).unwrap_or(u32::MAX).max(self.starts.saturating_sub(starts.number));
        (slices + beside).saturating_mul(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Loads with a budget of a minute, three starts and 5 s assumed beside the slices of one.
    fn run(loads: &[&str]) -> TimeLeft {
        let mut time = TimeLeft::new(s(60), 3);
        loads.iter().for_each(|load| time.add(load, s(5), &[]));
        time
    }

    #[test]
    fn before_the_first_start_it_is_the_budget_and_what_is_assumed_beside() {
        assert_eq!(run(&["a", "b"]).left(), s(2 * (60 + 3 * 5)));
    }

    #[test]
    fn starts_that_are_shorter_than_planned_are_followed_by_more_of_them_than_planned() {
        // Two loads that make starts of 4 s of slices, and take 12 s for each: fifteen starts use the budget.
        let mut time = run(&["a", "b"]);
        let mut left = 2 * 15;
        for _ in 0..15 {
            for load in ["a", "b"] {
                time.observe(load, s(12), s(4));
                left -= 1;
                assert_eq!(time.left(), s(12 * left), "{left} starts are left");
            }
        }
    }

    #[test]
    fn a_load_that_has_all_its_starts_takes_no_more_time() {
        let mut time = run(&["a", "b"]);
        time.observe("a", s(12), s(4));
        time.finish("a");
        assert_eq!(time.left(), s(15 * 12));
        time.finish("b");
        assert_eq!(time.left(), s(0));
    }

    #[test]
    fn long_starts_are_still_as_many_as_planned() {
        let mut time = run(&["a"]);
        time.observe("a", s(80), s(70));
        assert_eq!(time.left(), s(2 * 80));
    }

    #[test]
    fn starts_of_an_earlier_run_count_and_a_start_without_slices_is_no_division_by_zero() {
        let mut time = TimeLeft::new(s(60), 3);
        time.add("a", s(5), &[s(10), s(20)]);
        assert_eq!(time.left(), s(2 * (15 + 5)));
        time.add("b", s(5), &[]);
        time.finish("a");
        time.observe("b", s(1), s(0));
        // As long as the mean of all three.
        assert_eq!(time.left(), s(6 * (10 + 1)));
    }
}
