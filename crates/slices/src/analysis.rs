//! From the slices of a plan to the ratios of its targets. Pure functions; `docs/reference/statistics.md` has every formula.
//!
//! ```text
//! slices -> rounds -> differences -> within (rounds) + between (starts) -> ratio, p -> verdict -> sentence
//!                         \-> alarms          \-> progress
//! ```
//!
//! A *difference* is `ln y(target) - ln y(baseline)` of one round. The order within a round is random, so its sign is a fair
//! coin where the targets are equal: differences of several rounds are symmetric and uncorrelated whatever the machine does.

mod alarms;
mod between;
mod differences;
mod merged;
mod progress;
pub(crate) mod rounds;
mod sentence;
mod verdict;
pub(crate) mod within;

pub use progress::{LEAST_ROUNDS, Progress, RunningRatio, TargetProgress};
pub use sentence::sentence;

use crate::comparison::{FIGURES, LoadComparison};
use crate::record::Slice;
use alarms::Strictness;
use between::Between;
use brunt_results::comparison::Ratio;
use brunt_results::figure::{Figure, RATE};
use brunt_statistics::ratio::benjamini_hochberg;
use differences::{Readings, Series};
use rounds::Rounds;
use within::Within;

/// What is asked of a comparison, as shares: 0.03 is 3 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Smaller differences do not matter.
    pub margin: f64,
    /// Half width of the intervals.
    pub precision: f64,
}

/// The slices of one load, in the order they were made.
#[derive(Debug, Clone, Default)]
pub struct SlicedLoad {
    /// Settings of the load, as in the cells' ids; empty if there is only one.
    pub load: String,
    /// Whether requests have a schedule. Offered rates of all targets are equal then, and not compared unless one is missed.
    pub open_loop: bool,
    /// Cores of each target; 0 if unknown.
    pub server_cores: usize,
    pub slices: Vec<Slice>,
}

/// A rate of an open loop is missed where it is this much off the baseline's.
const MISSED: f64 = 0.02;

/// Compares all targets with the baseline, in all loads of a plan at once: p values are adjusted for all.
pub fn compare(
    loads: &[SlicedLoad],
    order_of_targets: &[String],
    baseline: &str,
    settings: Settings,
) -> Vec<LoadComparison> {
    let mut analyses: Vec<Analysis> =
        loads.iter().map(|load| Analysis::new(load, order_of_targets, baseline, settings)).collect();
    for analysis in &mut analyses {
        for figure in FIGURES {
            let mut own: Vec<&mut Compared> = analysis.compared.iter_mut().filter(|one| one.figure == figure).collect();
            let between = Between::of_load(&own.iter().map(|one| Some(&one.within)).collect::<Vec<_>>());
            for (one, between) in own.iter_mut().zip(between) {
                one.ratio = between.widen(&one.within).ratio(figure, &one.within);
            }
        }
    }
    let ps: Vec<f64> = analyses.iter().flat_map(|a| &a.compared).map(|one| one.ratio.p).collect();
    let ratios = analyses.iter_mut().flat_map(|a| &mut a.compared).map(|one| &mut one.ratio);
    for (ratio, p) in ratios.zip(benjamini_hochberg(&ps)) {
        ratio.p_adjusted = p;
    }
    let strictness = Strictness::of(analyses.iter().map(Analysis::tests).sum());
    analyses.into_iter().map(|analysis| analysis.conclude(strictness)).collect()
}

/// One figure of one target of a load.
struct Compared {
    target: usize,
    figure: &'static Figure,
    series: Series,
    within: Within,
    ratio: Ratio,
}

/// One load on its way to a comparison.
struct Analysis<'a> {
    rounds: Rounds<'a>,
    baseline: usize,
    server_cores: usize,
    compared: Vec<Compared>,
    /// With ratios and verdicts still to be filled in.
    comparison: LoadComparison,
}

impl<'a> Analysis<'a> {
    fn new(load: &'a SlicedLoad, order_of_targets: &[String], baseline: &str, settings: Settings) -> Self {
        let mut names = names(&load.slices);
        names.retain(|name| order_of_targets.iter().any(|target| target == name));
        names.sort_by_key(|name| order_of_targets.iter().position(|target| target == name));
        let rounds = Rounds::of(&load.slices, &names);
        let readings = Readings::of(&load.slices);
        let mut comparison = LoadComparison {
            load: load.load.clone(),
            open_loop: load.open_loop,
            baseline: baseline.to_string(),
            margin: settings.margin,
            precision: settings.precision,
            rounds: rounds.counted.len(),
            void: rounds.void,
            starts: rounds.starts,
            seconds: load.slices.iter().map(|slice| slice.busy_us as f64 / 1e6).sum(),
            targets: merged::targets(&rounds, &readings, baseline),
            alarms: Vec::new(),
            notes: Vec::new(),
        };
        let Some(baseline) = names.iter().position(|name| *name == baseline) else {
            return Self { rounds, baseline: 0, server_cores: 0, compared: Vec::new(), comparison };
        };
        let mut compared = Vec::new();
        for target in (0..names.len()).filter(|target| *target != baseline) {
            for figure in FIGURES {
                let series = Series::of(figure, &rounds, &readings, target, baseline);
                if let Some(within) = Within::of(&series.values, &series.starts) {
                    let is_offered = *figure == RATE && load.open_loop && within.estimate.abs() <= MISSED;
                    let ratio = Between::default().widen(&within).ratio(figure, &within);
                    if !is_offered {
                        compared.push(Compared { target, figure, series, within, ratio });
                    }
                }
            }
        }
        comparison.alarms = alarms::of_the_machine(&rounds);
        Self { rounds, baseline, server_cores: load.server_cores, compared, comparison }
    }

    /// Number of comparisons that alarms test.
    fn tests(&self) -> usize {
        self.compared.iter().filter(|one| alarms::is_tested(one.figure, self.comparison.open_loop)).count()
    }

    fn conclude(mut self, strictness: Strictness) -> LoadComparison {
        for one in &self.compared {
            if alarms::is_tested(one.figure, self.comparison.open_loop) {
                let found = alarms::of_a_figure(one, &self.rounds, self.baseline, self.comparison.margin, strictness);
                self.comparison.alarms.extend(found);
            }
        }
        let failed = self.comparison.targets.get(self.baseline).map_or(0, |baseline| baseline.failed);
        for one in self.compared {
            let faster = if one.ratio.ratio > 1.0 { one.target } else { self.baseline };
            let evidence = verdict::Evidence {
                ratio: &one.ratio,
                within: &one.within,
                failed: failed + self.comparison.targets[one.target].failed,
                generator_percent: self.rounds.generator_percent(faster),
                server_percent: self.rounds.server_percent(faster).filter(|_| self.server_cores > 0),
                server_cores: self.server_cores,
                too_many_void: self.rounds.too_many_void(),
            };
            let verdict = verdict::of(&evidence, self.comparison.margin, self.comparison.precision);
            self.comparison.targets[one.target].ratios.push(Ratio { verdict, ..one.ratio });
        }
        let stalls: Vec<_> = self.comparison.targets.iter().filter_map(alarms::rare_stalls).collect();
        self.comparison.alarms.extend(stalls);
        self.comparison
    }
}

/// Names of a load's targets, in the order in which their slices first appear.
fn names(slices: &[Slice]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for slice in slices {
        if !names.contains(&slice.target.as_str()) {
            names.push(&slice.target);
        }
    }
    names
}
