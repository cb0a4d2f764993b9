//! The frontier of cost against p99: at each rate the targets of which no other is better.

use super::estimate::Estimate;
use super::target::TargetCost;

/// What the frontier looks at of a point.
struct Figures {
    rate: f64,
    cost: Estimate,
    p99: Estimate,
}

impl Figures {
    /// Whether it is certainly lower than the other one in cost or p99, and certainly higher in neither. Intervals that are apart
    /// make it certain.
    fn beats(&self, other: &Self) -> bool {
        let is_better = self.cost.is_below(&other.cost) || self.p99.is_below(&other.p99);
        let is_worse = other.cost.is_below(&self.cost) || other.p99.is_below(&self.p99);
        self.rate == other.rate && is_better && !is_worse
    }
}

/// Marks the points that no other target beats at their rate. Points that are left out are no part of the frontier.
pub(super) fn mark_frontier(targets: &mut [TargetCost]) {
    let figures = |target: &TargetCost| -> Vec<Option<Figures>> {
        let counted = target.points.iter().map(|point| Some(point).filter(|point| point.left_out.is_none()));
        counted.map(|point| Some(Figures { rate: point?.rate, cost: point?.cost_us?, p99: point?.p99_us? })).collect()
    };
    let all: Vec<Vec<Option<Figures>>> = targets.iter().map(figures).collect();
    for (target, own) in targets.iter_mut().zip(&all) {
        for (point, own) in target.points.iter_mut().zip(own) {
            let mut others = all.iter().flatten().flatten();
            point.on_frontier = own.as_ref().is_some_and(|own| !others.any(|other| other.beats(own)));
        }
    }
}
