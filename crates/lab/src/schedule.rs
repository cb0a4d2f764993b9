//! What a request amounts to: the cells wanted, the order of their trials, and how long they will take. Nothing is
//! started here, so that it can be shown before it is done.

mod cells;
mod cpu_assignment;
mod order;
mod selection;

use crate::{Error, plan::Plan};
use selection::Selection;
use std::{collections::BTreeMap, time::Duration};

pub use cells::{Cell, Cells, SkippedCell, cells};
pub use cpu_assignment::{Machine, Placement, SkipReason, TooFewCores, assign_cores, busy};
pub use order::{ScheduledTrial, abba, order};

/// Assumed for a trial beside its load until there is one to measure: starting, connecting, draining, stopping.
const OVERHEAD: Duration = Duration::from_millis(300);

/// The trials of an experiment.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// All cells of the plan on this machine.
    pub all: Cells,
    /// SkippedCell cells that were wanted.
    pub skipped: Vec<SkippedCell>,
    /// Trials wanted, in order; indices into `all.run`.
    pub order: Vec<ScheduledTrial>,
    /// Trials of each cell.
    pub repeats: u32,
}

impl Schedule {
    /// The trials of a plan on a machine; `only` narrows them. `unavailable` holds the targets that cannot be started
    /// here, and why.
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
        order.retain(|slot| selection.admits(&all.run[slot.cell]));
        let skipped = all.skipped.iter().filter(|cell| selection.admits_id(&cell.id)).cloned().collect();
        Ok(Self { all, skipped, order, repeats })
    }

    /// Puts the trials into the order for comparisons; see [`mirrored`].
    pub fn reorder_abba(&mut self, seed: u64) {
        let wanted: std::collections::BTreeSet<usize> = self.order.iter().map(|slot| slot.cell).collect();
        // The wanted cells alone, or targets that are not wanted would leave gaps in which others run.
        let (places, cells): (Vec<usize>, Vec<Cell>) =
            wanted.into_iter().map(|cell| (cell, self.all.run[cell].clone())).unzip();
        let slots = abba(&cells, self.repeats, seed);
        self.order = slots.into_iter().map(|slot| ScheduledTrial { cell: places[slot.cell], ..slot }).collect();
    }

    /// The cell of a slot.
    pub fn cell(&self, slot: ScheduledTrial) -> &Cell {
        &self.all.run[slot.cell]
    }

    /// The cells wanted, in the order of the plan.
    pub fn wanted(&self) -> Vec<&Cell> {
        let wanted: std::collections::BTreeSet<usize> = self.order.iter().map(|slot| slot.cell).collect();
        wanted.into_iter().map(|index| &self.all.run[index]).collect()
    }

    /// The trials that `is_done` does not know, those of one start of a target together, each with the place of its first
    /// in the order. Of phases that share a start all are to be run as soon as one is.
    pub fn todo(&self, is_done: impl Fn(&ScheduledTrial) -> bool) -> Vec<(usize, &[ScheduledTrial])> {
        let mut first = 0;
        let shares =
            |a: &ScheduledTrial, b: &ScheduledTrial| a.repeat == b.repeat && self.cell(*a).shares_start(self.cell(*b));
        let placed = self.order.chunk_by(shares).map(|start| {
            first += start.len();
            (first - start.len(), start)
        });
        placed.filter(|(_, start)| !start.iter().all(&is_done)).collect()
    }

    /// How many cells the plan's own filters leave out, in a line, if there are any.
    pub fn filtered_line(&self) -> Option<String> {
        match self.all.filtered {
            0 => None,
            1 => Some("left out by the plan's when and except: 1 cell".to_owned()),
            cells => Some(format!("left out by the plan's when and except: {cells} cells")),
        }
    }

    /// How long these trials will take; `overhead` is what a trial of this experiment took beside its load so far.
    pub fn time(&self, slots: &[ScheduledTrial], overhead: Option<Duration>) -> Duration {
        let load: Duration = slots.iter().map(|slot| self.cell(*slot).load_time()).sum();
        load + overhead.unwrap_or(OVERHEAD) * slots.len() as u32
    }
}

/// A length of time as people say it: `45 s`, `3 min 20 s`, `2 h 5 min`.
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

/// SkippedCell cells, a line a reason; all that want more cores than there are share one.
pub fn skipped_lines(skipped: &[SkippedCell]) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&SkippedCell>)> = Vec::new();
    for cell in skipped {
        let key = match &cell.why {
            SkipReason::Cores(_) => String::new(),
            SkipReason::Other(why) => why.clone(),
        };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((key, vec![cell])),
        }
    }
    groups.iter().map(|(_, cells)| skipped_line(cells)).collect()
}

fn skipped_line(cells: &[&SkippedCell]) -> String {
    let (mut targets, mut wants): (Vec<&str>, Vec<TooFewCores>) = (Vec::new(), Vec::new());
    for cell in cells {
        if !targets.contains(&cell.target.as_str()) {
            targets.push(&cell.target);
        }
        match cell.why {
            SkipReason::Cores(cores) if !wants.contains(&cores) => wants.push(cores),
            _ => {}
        }
    }
    let count = if cells.len() == 1 { "1 cell".to_owned() } else { format!("{} cells", cells.len()) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let said = |s: u64| format_duration(Duration::from_secs(s));
        assert_eq!(said(45), "45 s");
        assert_eq!(said(60), "1 min");
        assert_eq!(said(200), "3 min 20 s");
        assert_eq!(said(1234), "20 min");
        assert_eq!(said(7500), "2 h 5 min");
    }

    #[test]
    fn one_reason_is_one_line() {
        let skip = |target: &str, why: SkipReason| SkippedCell { id: "x".into(), target: target.into(), why };
        let tool = || SkipReason::Other("needs 'go'".into());
        let cores = |server, client| SkipReason::Cores(TooFewCores { server, client, have: 2 });
        let mut skipped = vec![skip("go", tool()), skip("uring", cores(4, 1)), skip("go", tool())];
        let alone = "skipped: 1 cell of uring: needs 4 server + 1 generator cores, this machine has 2";
        assert_eq!(skipped_lines(&skipped), ["skipped: 2 cells of go: needs 'go'", alone]);
        skipped.extend([skip("epoll", cores(8, 8)), skip("epoll", cores(4, 1))]);
        let together = "skipped: 3 cells of uring, epoll: need 4+1, 8+8 cores (server + generator), this machine has 2";
        assert_eq!(skipped_lines(&skipped)[1], together);
    }
}
