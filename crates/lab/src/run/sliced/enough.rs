//! When a start has enough rounds, and a load enough starts.

use crate::plan::Plan;
use crate::schedule::Cell;
use crate::slices::session::Made;
use brunt_slices::{Progress, Slice};
use std::time::Duration;

/// Rounds of one start: the spread between starts takes many starts, and each costs the time to launch and warm up.
const ROUNDS: u32 = 5;
/// Rounds of the first starts together that have no time for more: fewer have no interval.
const LEAST_ROUNDS: u32 = 6;

/// Fewest starts that tell how much starts differ.
const LEAST_STARTS: usize = 4;

/// The rules of one load.
pub struct Enough<'a> {
    baseline: &'a str,
    precision: f64,
    /// Whether requests have a schedule, so that rates are equal.
    is_open: bool,
    /// Fewest starts.
    starts: u32,
    /// Time for the slices of all starts.
    budget: Duration,
}

impl<'a> Enough<'a> {
    /// The rules for these cells, one for each target.
    pub fn new(plan: &'a Plan, budget: Duration, starts: u32, cells: &[&Cell]) -> Self {
        let is_loaded = |name: &&String| cells.iter().any(|cell| cell.target == **name);
        let first = plan.targets.iter().map(|target| &target.name).find(is_loaded);
        let baseline = plan.baseline.as_ref().filter(is_loaded).or(first).map_or("", String::as_str);
        let is_open = cells.iter().any(|cell| cell.rate().is_some());
        Self { baseline, precision: plan.slicing.precision(), is_open, starts, budget }
    }

    /// Whether a start that has made these rounds may end. Launching and warming up took `setup`: a start makes slices for as long
    /// as that, unless that is more than its part of the budget.
    pub fn of_rounds(&self, Made { rounds, void, time }: Made, setup: Duration) -> bool {
        // At least a third is taken to count, so that a start ends on a machine where all are void.
        let rounds = (rounds - void).max(rounds / 3);
        let is_over = time >= self.budget / self.starts;
        rounds >= LEAST_ROUNDS.div_ceil(self.starts).max(2) && is_over || rounds >= ROUNDS && time >= setup
    }

    /// Whether the load needs no start after these slices: its intervals are narrow, whatever they contain, or another start like
    /// the last would take more than the budget.
    pub fn of_starts(&self, slices: &[Slice]) -> bool {
        let times = time_of_starts(slices);
        let next = times.iter().sum::<Duration>() + times.last().copied().unwrap_or_default();
        times.len() >= self.starts as usize
            && (next > self.budget || times.len() >= LEAST_STARTS && self.progress(slices).precise)
    }

    /// The intervals so far.
    pub fn progress(&self, slices: &[Slice]) -> Progress {
        Progress::of(slices, self.baseline, self.precision, self.is_open)
    }
}

/// Time from the first request of each start to its last reply.
pub fn time_of_starts(slices: &[Slice]) -> Vec<Duration> {
    let end = |start: &[Slice]| start.iter().map(|slice| slice.at_us + slice.busy_us).max().unwrap_or_default();
    slices.chunk_by(|a, b| a.start == b.start).map(|start| Duration::from_micros(end(start))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(2);

    fn rules(budget: Duration) -> Enough<'static> {
        Enough { baseline: "a", precision: 0.02, is_open: false, starts: 3, budget }
    }

    /// Starts of two seconds with eight rounds each, which spread by 0.4 %. The ratio of `b` to `a` is another in each start, by `spread`.
    fn slices(starts: u32, spread: f64) -> Vec<Slice> {
        let mut slices = Vec::new();
        for (start, round, target) in
            (1..=starts).flat_map(|s| (1..=8).flat_map(move |r| ["a", "b"].map(|name| (s, r, name))))
        {
            let own = if target == "b" { 1.0 + spread * f64::from(start % 3) + 0.001 * f64::from(round) } else { 1.0 };
            slices.push(Slice {
                start,
                round,
                target: target.to_owned(),
                at_us: 250_000 * u64::from(round - 1),
                window_us: 240_000,
                busy_us: 250_000,
                completed: (10_000.0 * own) as u64,
                replies: (10_000.0 * own) as u64,
                server_cpu_us: Some(240_000.0),
                ..Slice::default()
            });
        }
        slices
    }

    #[test]
    fn a_load_gets_starts_until_it_is_precise_or_its_budget_is_used() {
        let rules = rules(START * 6);
        let needed = |spread: f64| (1..9).find(|starts| rules.of_starts(&slices(*starts, spread)));
        // Rounds alone would be enough with four starts; after six, a seventh would exceed the budget.
        assert_eq!([0.0, 0.014, 0.2].map(needed), [Some(4), Some(5), Some(6)]);
    }

    #[test]
    fn a_start_has_few_rounds_and_more_where_launching_took_long_but_keeps_its_part_of_the_budget() {
        let rules = rules(START * 6);
        let rounds = |each: Duration, setup| {
            (1..).find(|rounds| rules.of_rounds(Made { rounds: *rounds, void: 0, time: each * *rounds }, setup))
        };
        let [quick, slow] = [Duration::from_millis(100), Duration::from_millis(1200)];
        assert_eq!((rounds(quick, quick), rounds(quick, slow)), (Some(5), Some(12)));
        assert_eq!((rounds(slow, quick), rounds(START * 3, slow)), (Some(4), Some(2)));
    }
}
