//! When a start of a load has enough rounds.

use crate::run::Request;
use crate::schedule::Cell;
use crate::slices::Slice;
use crate::slices::analysis::{FIRST_LOOK, LOOKS, is_precise};

/// The rule that ends a start: the intervals are narrow enough, whatever they contain.
pub struct Enough {
    baseline: String,
    precision: f64,
    /// Whether requests have a schedule, so that rates are equal.
    is_open: bool,
    start: u32,
    starts: u32,
}

impl Enough {
    /// The rule for start number `start` of `starts` of these cells, one for each target.
    pub fn new<'c>(request: &Request, start: u32, starts: u32, cells: impl Iterator<Item = &'c Cell>) -> Self {
        let (names, rates): (Vec<&str>, Vec<_>) = cells.map(|cell| (cell.target.as_str(), cell.rate())).unzip();
        let is_open = rates.iter().any(Option::is_some);
        let plan = &request.plan;
        let first = plan.targets.iter().map(|target| &target.name).find(|name| names.contains(&name.as_str()));
        let named = plan.baseline.as_ref().filter(|name| names.contains(&name.as_str()));
        let baseline = named.or(first).cloned().unwrap_or_default();
        Self { baseline, precision: plan.slicing.precision(), is_open, start, starts: starts.max(start) }
    }

    /// Fewest rounds of one start.
    pub fn least_rounds(&self) -> usize {
        FIRST_LOOK.div_ceil(self.starts as usize)
    }

    /// Whether a start that has made `rounds` may end; `slices` are those of all starts so far. Each start contributes its
    /// part: with all starts as long as the ones so far, the intervals would be as narrow as was asked for.
    pub fn is_reached(&self, slices: &[Slice], rounds: usize) -> bool {
        if rounds < self.least_rounds() || !rounds.is_multiple_of(LOOKS) {
            return false;
        }
        let share = (f64::from(self.start) / f64::from(self.starts)).sqrt();
        let progress = is_precise(slices, &self.baseline, self.precision, self.is_open);
        let halves =
            progress.targets.iter().flat_map(|target| [target.cost, target.rate]).flatten().map(|now| now.half);
        let widest = halves.reduce(f64::max);
        widest.is_some_and(|half| half * share <= self.precision)
    }
}
