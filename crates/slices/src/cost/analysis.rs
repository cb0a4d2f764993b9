//! From slices at several rates to the costs of their targets. Pure.

use super::estimate::Estimate;
use super::frontier::mark_frontier;
use super::line::{CpuOf, line};
use super::points::Point;
use super::record::CostSlice;
use super::rounds::{PointRound, Rounds};
use super::target::{PartCost, TargetCost};
use super::ties::groups;
use serde::{Deserialize, Serialize};

/// Fewer rounds are not enough, however narrow the intervals are.
pub const LEAST_ROUNDS: usize = 8;

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// In the order of the result.
    pub targets: Vec<String>,
    /// Requests a second, in ascending order.
    pub rates: Vec<f64>,
}

/// All targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostAnalysis {
    /// Rounds that count.
    pub rounds: usize,
    /// Rounds that do not, because the machine took time from them.
    pub void: usize,
    pub targets: Vec<TargetCost>,
    /// Groups of targets that cannot be told apart, the cheapest first.
    pub groups: Vec<Vec<String>>,
}

/// How far the intervals are.
#[derive(Debug, Clone, PartialEq)]
pub struct Precision {
    /// Half width of the widest interval of a cost or a marginal cost, as a share; `None` before there are intervals.
    pub half: Option<f64>,
    /// Whose it is.
    pub of: String,
}

/// Analyses all slices, in the order in which they were made.
pub fn analyse(slices: &[CostSlice], settings: &Settings) -> CostAnalysis {
    let rounds = Rounds::of(slices);
    let mut targets: Vec<TargetCost> =
        settings.targets.iter().map(|target| of_target(target, slices, &rounds, &settings.rates)).collect();
    mark_frontier(&mut targets);
    let held: Vec<(&str, Vec<f64>)> = targets
        .iter()
        .map(|target| {
            let counted = target.points.iter().filter(|point| point.left_out.is_none() && point.cost_us.is_some());
            (target.target.as_str(), counted.map(|point| point.rate).collect())
        })
        .collect();
    let groups = groups(&rounds, &held);
    CostAnalysis { rounds: rounds.count(), void: rounds.void, targets, groups }
}

fn of_target(target: &str, slices: &[CostSlice], rounds: &Rounds, rates: &[f64]) -> TargetCost {
    let mut points = Vec::new();
    let (mut held, mut of_held) = (Vec::new(), Vec::new());
    for rate in rates {
        let is_it = |slice: &&CostSlice| slice.slice.target == target && slice.rate == *rate;
        let all: Vec<&CostSlice> = slices.iter().filter(is_it).collect();
        let own = rounds.of_point(target, *rate);
        let point = Point::of(*rate, &own, &all);
        if point.left_out.is_none() {
            held.push(*rate);
            of_held.push(own);
        }
        points.push(point);
    }
    let is_metered = points.iter().any(|point| point.cost_us.is_some());
    let found = match is_metered {
        true => line(&held, &of_held, CostSlice::cpu_us_per_s),
        false => Err("its CPU time is not known".to_owned()),
    };
    let (line, no_line) = match found {
        Ok(line) => (Some(line), None),
        Err(why) => (None, Some(why)),
    };
    let parts = parts(&held, &of_held);
    TargetCost { target: target.to_owned(), points, line, parts, no_line, idle_us_per_s: idle(target, rounds) }
}

/// The lines of both parts of a target that has something behind it.
fn parts(rates: &[f64], points: &[Vec<PointRound>]) -> Vec<PartCost> {
    let both: [(&str, CpuOf); 2] = [("listener", CostSlice::front_us_per_s), ("behind", CostSlice::behind_us_per_s)];
    let part = |(part, cpu_of): (&str, CpuOf)| {
        Some(PartCost { part: part.to_owned(), line: line(rates, points, cpu_of).ok()? })
    };
    both.into_iter().filter_map(part).collect()
}

/// CPU time of a target in the slices of others.
fn idle(target: &str, rounds: &Rounds) -> Option<f64> {
    let others = || rounds.slices().filter(|slice| slice.slice.target != target);
    let own = |slice: &CostSlice| -> f64 {
        slice.slice.idle_cpu_us.iter().filter(|(name, _)| name == target).map(|(_, us)| us).sum()
    };
    let (used, span): (f64, f64) =
        others().fold((0.0, 0.0), |(used, span), slice| (used + own(slice), span + slice.span_us));
    (used > 0.0 && span > 0.0).then(|| used / span * 1e6)
}

impl CostAnalysis {
    /// The widest of the intervals that rounds narrow.
    pub fn precision(&self) -> Precision {
        let mut widest = Precision { half: Some(0.0), of: String::new() };
        let mut tell = |estimate: &Estimate, of: &dyn Fn() -> String| {
            let half = estimate.half();
            if widest.half.is_some_and(|most| half.is_none_or(|half| half >= most)) {
                widest = Precision { half, of: of() };
            }
        };
        for target in &self.targets {
            for point in target.points.iter().filter(|point| point.left_out.is_none()) {
                let of = || format!("cost of {} at {}/s", target.target, brunt_results::Rate(point.rate));
                point.cost_us.iter().for_each(|cost| tell(cost, &of));
            }
            let of = || format!("marginal cost of {}", target.target);
            target.line.iter().for_each(|line| tell(&line.marginal_us, &of));
        }
        if widest.of.is_empty() { Precision { half: None, ..widest } } else { widest }
    }

    /// Points whose intervals are wider than this share while those of others are not. Another slice of them in each round narrows
    /// their intervals sooner than a round of all points would.
    pub fn wide_points(&self, precision: f64) -> Vec<(String, f64)> {
        if self.rounds < LEAST_ROUNDS {
            return Vec::new();
        }
        let held = |target: &TargetCost| -> Vec<(String, f64, f64)> {
            let held = target.points.iter().filter(|point| point.left_out.is_none());
            held.filter_map(|point| Some((target.target.clone(), point.rate, point.cost_us?.half()?))).collect()
        };
        let all: Vec<(String, f64, f64)> = self.targets.iter().flat_map(held).collect();
        let is_wide = |half: f64| half > precision;
        if all.iter().all(|(_, _, half)| is_wide(*half)) {
            return Vec::new();
        }
        all.into_iter().filter(|(_, _, half)| is_wide(*half)).map(|(target, rate, _)| (target, rate)).collect()
    }

    /// Whether all intervals are within this share.
    pub fn is_precise(&self, precision: f64) -> bool {
        self.rounds >= LEAST_ROUNDS && self.precision().half.is_some_and(|half| half <= precision)
    }

    /// Rounds that would do, by the intervals so far.
    pub fn needed(&self, precision: f64) -> Option<usize> {
        let half = self.precision().half?;
        let needed = (self.rounds as f64 * (half / precision).powi(2)).ceil() as usize;
        Some(needed.max(LEAST_ROUNDS))
    }
}
