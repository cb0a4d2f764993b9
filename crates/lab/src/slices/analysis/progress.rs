//! How narrow the intervals are while slices are being made. Looks at widths alone: ending rounds when a difference becomes
//! significant would find one between twins sooner or later.

use super::rounds::Rounds;
use super::verdict::rounds_for_half;
use super::within::Within;
use super::{differences, names};
use crate::slices::comparison::Figure;
use crate::slices::record::Slice;

/// Counted rounds at the first look, and from one look to the next.
pub const FIRST_LOOK: usize = 20;
pub const LOOKS: usize = 4;

/// A ratio to the baseline so far. The spread between starts is not in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunningRatio {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// Half the width of the interval, as a share.
    pub half: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TargetProgress {
    pub target: String,
    /// Absent for fewer than six rounds, or without metered CPU time.
    pub cost: Option<RunningRatio>,
    /// Absent in an open loop.
    pub rate: Option<RunningRatio>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Counted rounds of all starts, and those left out.
    pub rounds: usize,
    pub void: usize,
    /// All targets but the baseline.
    pub targets: Vec<TargetProgress>,
    /// Counted rounds of all starts together at which all intervals are about narrow enough; absent before the first ones.
    pub needed: Option<usize>,
    /// Whether all intervals are at most as wide as asked for. Said at every fourth round from the 20th.
    pub precise: bool,
}

/// Of the slices so far of one load, in the order they were made. `precision` is a half width, as a share. Reads no
/// histogram: takes a fraction of a millisecond for 200 rounds of three targets.
pub fn is_precise(slices: &[Slice], baseline: &str, precision: f64, open_loop: bool) -> Progress {
    let names = names(slices);
    let rounds = Rounds::of(slices, &names);
    let precision = precision.ln_1p();
    let (mut needed, mut precise): (Option<usize>, bool) = (None, true);
    let mut running = |figure: Figure, target: usize, baseline: usize| {
        let series = differences::of_counts(figure, &rounds, target, baseline);
        let within = Within::of(&series.values, &series.starts)?;
        precise &= within.half() <= precision;
        needed = needed.max(Some(rounds_for_half(precision, &within)));
        let (low, high) = (within.interval.low.exp(), within.interval.high.exp());
        Some(RunningRatio { ratio: within.estimate.exp(), low, high, half: within.half().exp_m1() })
    };
    let mut targets = Vec::new();
    if let Some(base) = names.iter().position(|name| *name == baseline) {
        for target in (0..names.len()).filter(|target| *target != base) {
            let cost = running(Figure::Cost, target, base);
            let rate = if open_loop { None } else { running(Figure::Rate, target, base) };
            targets.push(TargetProgress { target: names[target].to_string(), cost, rate });
        }
    }
    let count = rounds.counted.len();
    let is_known = !targets.is_empty() && targets.iter().all(|target| target.cost.is_some() || target.rate.is_some());
    let is_look = count >= FIRST_LOOK && count.is_multiple_of(LOOKS);
    Progress { rounds: count, void: rounds.void, targets, needed, precise: precise && is_known && is_look }
}
