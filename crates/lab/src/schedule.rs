//! What a run will do: the selected cells, the order of their trials, and how long they will take. Starts nothing.

mod cells;
mod cpu_assignment;
mod order;
mod selection;

use crate::format::plural;
use crate::group::{distinct, grouped};
use crate::plan::Plan;
use brunt_results::Error;
use selection::Selection;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) use cells::OTHER_FILES;
pub use cells::{Cell, Cells, SkippedCell, cells, pairs};
pub use cpu_assignment::{Machine, Placement, SkipReason, TooFewCores, assign_cores, busy};

pub(crate) use order::shuffle;
pub use order::{ScheduledTrial, abba, order};

#[derive(Debug, Clone)]
pub struct Schedule {
    /// All cells of the plan on this machine.
    pub all: Cells,
    /// Skipped cells that were selected.
    pub skipped: Vec<SkippedCell>,
    /// Selected trials, in order; indices into `all.run`.
    pub order: Vec<ScheduledTrial>,
    pub repeats: u32,
    /// Time for the slices of one load, over all its starts, if the targets take turns by slices.
    pub budget: Option<Duration>,
    /// By cell: how many targets are selected of its load, at least 1.
    targets: Vec<u32>,
}

impl Schedule {
    /// The trials of a plan on a machine, narrowed by `only`. `unavailable`: see [`cells`].
    pub fn new(
        plan: &Plan,
        machine: &Machine,
        unavailable: &BTreeMap<String, String>,
        only: &[String],
    ) -> Result<Self, Error> {
        let selection = Selection::parse(only, plan).map_err(Error::Usage)?;
        let all = cells(plan, machine, unavailable);
        selection.check(&all, plan).map_err(Error::Usage)?;
        let repeats = plan.repeats;
        let mut order = order(&all.run, repeats, plan.seed);
        order.retain(|trial| selection.admits(&all.run[trial.cell]));
        let skipped = all.skipped.iter().filter(|cell| selection.admits_skipped(cell)).cloned().collect();
        let mut schedule = Self { targets: vec![1; all.run.len()], all, skipped, order, repeats, budget: None };
        schedule.targets = schedule.targets_by_cell();
        Ok(schedule)
    }

    fn targets_by_cell(&self) -> Vec<u32> {
        let mut targets = BTreeMap::<&str, u32>::new();
        for cell in self.selected() {
            *targets.entry(cell.combination()).or_default() += 1;
        }
        self.all.run.iter().map(|cell| targets.get(cell.combination()).copied().unwrap_or(1)).collect()
    }

    /// Reorders the trials for comparisons; see [`abba`].
    pub fn reorder_abba(&mut self, seed: u64) {
        // Only selected cells: others would leave gaps between the trials that are compared.
        let indices = self.selected_indices();
        let cells: Vec<Cell> = indices.iter().map(|index| self.all.run[*index].clone()).collect();
        let trials = abba(&cells, self.repeats, seed);
        self.order = trials.into_iter().map(|trial| ScheduledTrial { cell: indices[trial.cell], ..trial }).collect();
    }

    pub fn cell(&self, trial: ScheduledTrial) -> &Cell {
        &self.all.run[trial.cell]
    }

    pub fn selected(&self) -> Vec<&Cell> {
        self.selected_indices().into_iter().map(|index| &self.all.run[index]).collect()
    }

    fn selected_indices(&self) -> Vec<usize> {
        self.order.iter().map(|trial| trial.cell).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Starts to run, with the position of their first trial: of a target, with phases that share it; by slices, of all targets
    /// of a load, if one of them is not done.
    pub fn todo(&self, is_done: impl Fn(&ScheduledTrial) -> bool) -> Vec<(usize, &[ScheduledTrial])> {
        let mut first = 0;
        let shares = |a: &ScheduledTrial, b: &ScheduledTrial| {
            let (one, other) = (self.cell(*a), self.cell(*b));
            let share = match self.budget {
                Some(_) => one.combination() == other.combination(),
                None => one.shares_start(other),
            };
            a.repeat == b.repeat && share
        };
        let starts = self.order.chunk_by(shares).map(|start| {
            first += start.len();
            (first - start.len(), start)
        });
        starts.filter(|(_, start)| !start.iter().all(&is_done)).collect()
    }

    /// `CELL/REPEAT`
    pub fn name(&self, trial: ScheduledTrial) -> String {
        format!("{}/{}", self.cell(trial).id(), trial.repeat)
    }

    /// Time of one trial under load.
    pub fn load_time(&self, trial: ScheduledTrial) -> Duration {
        let cell = self.cell(trial);
        match self.budget {
            None => cell.load_time(),
            Some(budget) => budget / self.repeats.max(1) / self.targets[trial.cell] + cell.settings.warmup.0,
        }
    }

    /// A line with the number of cells that the plan's own filters leave out, if any.
    pub fn filtered_line(&self) -> Option<String> {
        let filtered = Some(self.all.filtered).filter(|cells| *cells > 0)?;
        Some(format!("left out by the plan's when and except: {}", plural(filtered, "cell")))
    }
}

/// Skipped cells, a line for each reason; all cells that need more cores share one.
pub fn skipped_lines(skipped: &[SkippedCell]) -> Vec<String> {
    let why = |cell: &SkippedCell| match &cell.why {
        SkipReason::Cores(_) => String::new(),
        SkipReason::Other(why) => why.clone(),
    };
    grouped(skipped.iter().map(|cell| (why(cell), cell))).iter().map(|(_, cells)| skipped_line(cells)).collect()
}

fn skipped_line(cells: &[&SkippedCell]) -> String {
    let targets = distinct(cells.iter().map(|cell| cell.target.as_str()));
    let wants = distinct(cells.iter().filter_map(|cell| match cell.why {
        SkipReason::Cores(cores) => Some(cores),
        SkipReason::Other(_) => None,
    }));
    let count = plural(cells.len(), "cell");
    let of = if targets.len() > 4 { format!("{} targets", targets.len()) } else { targets.join(", ") };
    let why = match wants.as_slice() {
        [] | [_] => cells[0].why.to_string(),
        [first, ..] => {
            let each = |cores: &TooFewCores| format!("{}+{}", cores.server, cores.client);
            let each = wants.iter().map(each).collect::<Vec<_>>().join(", ");
            format!("need {each} cores (server + generator), this machine has {}", first.have)
        }
    };
    format!("skipped: {count} of {of}: {why}")
}

/// Time of a trial beside its load, assumed until one has run: start, connect, drain, stop.
pub(crate) const OVERHEAD: Duration = Duration::from_millis(300);

/// Learns how long trials take beside their load.
#[derive(Debug, Default)]
pub struct Estimator {
    overhead: Duration,
    trials: u32,
}

impl Estimator {
    /// Adds trials that took this much longer than their load.
    pub fn observe(&mut self, overhead: Duration, trials: usize) {
        self.overhead += overhead;
        self.trials += trials as u32;
    }

    pub fn time(&self, schedule: &Schedule, trials: &[ScheduledTrial]) -> Duration {
        let load: Duration = trials.iter().map(|trial| schedule.load_time(*trial)).sum();
        load + self.overhead.checked_div(self.trials).unwrap_or(OVERHEAD) * trials.len() as u32
    }
}

/// A duration rounded for reading: `45 s`, `3 min 20 s`, `2 h 5 min`.
pub fn format_duration(time: Duration) -> String {
    let s = time.as_secs_f64().round() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) if min < 10 => format!("{min} min {s} s"),
        (0, min, _) => format!("{min} min"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_the_same_reason_share_a_line() {
        let skip =
            |target: &str, why: SkipReason| SkippedCell { id: format!("target={target}"), target: target.into(), why };
        let tool = || SkipReason::Other("needs 'go'".into());
        let cores = |server, client| SkipReason::Cores(TooFewCores { server, client, have: 2 });
        let mut skipped = vec![skip("go", tool()), skip("uring", cores(4, 1)), skip("go", tool())];
        let alone = "skipped: 1 cell of uring: needs 4 server + 1 generator cores, this machine has 2";
        assert_eq!(skipped_lines(&skipped), ["skipped: 2 cells of go: needs 'go'", alone]);
        skipped.extend([skip("epoll", cores(8, 8)), skip("epoll", cores(4, 1))]);
        let together = "skipped: 3 cells of uring, epoll: need 4+1, 8+8 cores (server + generator), this machine has 2";
        assert_eq!(skipped_lines(&skipped)[1], together);
    }

    #[test]
    fn durations_are_rounded_for_reading() {
        for (s, text) in [(45, "45 s"), (60, "1 min"), (200, "3 min 20 s"), (1234, "20 min"), (7500, "2 h 5 min")] {
            assert_eq!(format_duration(Duration::from_secs(s)), text);
        }
    }
}
