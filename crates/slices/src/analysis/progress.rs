//! How narrow the intervals are while slices are being made. Looks at widths alone: ending rounds when a difference becomes
//! significant would find one between twins sooner or later.

use super::between::Between;
use super::rounds::Rounds;
use super::verdict::rounds_for_half;
use super::within::Within;
use super::{differences, names};
use crate::record::Slice;
use brunt_results::figure::{COST, Figure, RATE};

/// Fewest counted rounds that can be precise.
pub const LEAST_ROUNDS: usize = 20;

/// Counted rounds from one look at the width of the intervals to the next.
const LOOKS: usize = 4;

/// A ratio to the baseline so far, the spread between starts included.
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

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Counted rounds of all starts, and those left out.
    pub rounds: usize,
    pub void: usize,
    /// All targets but the baseline.
    pub targets: Vec<TargetProgress>,
    /// Counted rounds at which all intervals are about narrow enough, if starts do not differ; absent before the first ones.
    pub needed: Option<usize>,
    /// Whether all intervals are at most as wide as asked for, after 20 rounds or more.
    pub precise: bool,
}

impl Progress {
    /// Whether a comparison of one start may end: its intervals are looked at now and then, as any would be narrow once by chance.
    pub fn is_enough(&self) -> bool {
        self.precise && self.rounds.is_multiple_of(LOOKS)
    }

    /// Of the slices so far of one load, in the order they were made. `precision` is a half width, as a share. Reads no
    /// histogram: takes a fraction of a millisecond for 200 rounds of three targets.
    pub fn of(slices: &[Slice], baseline: &str, precision: f64, open_loop: bool) -> Self {
        let names = names(slices);
        let rounds = Rounds::of(slices, &names);
        let precision = precision.ln_1p();
        let Some(base) = names.iter().position(|name| *name == baseline) else {
            return Self { rounds: rounds.counted.len(), void: rounds.void, ..Progress::default() };
        };
        let others: Vec<usize> = (0..names.len()).filter(|target| *target != base).collect();
        let (mut needed, mut widest): (Option<usize>, f64) = (None, 0.0);
        let mut running = |figure: &Figure| -> Vec<Option<RunningRatio>> {
            let within = |target: &usize| {
                let series = differences::of_counts(figure, &rounds, *target, base);
                Within::of(&series.values, &series.starts)
            };
            let all: Vec<Option<Within>> = others.iter().map(within).collect();
            let between = Between::of_load(&all.iter().map(Option::as_ref).collect::<Vec<_>>());
            let mut ratio = |(within, between): (&Within, &Between)| {
                let interval = between.interval(within);
                let half = (interval.high - interval.low) / 2.0;
                widest = widest.max(half);
                needed = needed.max(Some(rounds_for_half(precision, within)));
                let [ratio, low, high] = [within.estimate, interval.low, interval.high].map(f64::exp);
                RunningRatio { ratio, low, high, half: half.exp_m1() }
            };
            all.iter().zip(&between).map(|(within, between)| Some(ratio((within.as_ref()?, between)))).collect()
        };
        let costs = running(&COST);
        let rates = if open_loop { vec![None; others.len()] } else { running(&RATE) };
        let target =
            |((target, cost), rate): ((&usize, _), _)| TargetProgress { target: names[*target].into(), cost, rate };
        let targets: Vec<TargetProgress> = others.iter().zip(costs).zip(rates).map(target).collect();
        let count = rounds.counted.len();
        let is_known =
            !targets.is_empty() && targets.iter().all(|target| target.cost.is_some() || target.rate.is_some());
        let precise = is_known && count >= LEAST_ROUNDS && widest <= precision;
        Self { rounds: count, void: rounds.void, targets, needed, precise }
    }
}
