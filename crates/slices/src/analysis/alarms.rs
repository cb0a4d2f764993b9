//! Signs that the assumptions behind the intervals do not hold. Nothing is corrected: the reader is told.
//!
//! All tests are of products whose sign is a fair coin where the order is random and the assumption holds: `sum x e` over
//! `sqrt(sum (x e)^2)` is about standard normal, also for heavy tails and spells (White 1980).

use super::Compared;
use super::rounds::Rounds;
use crate::comparison::{Alarm, TargetComparison};
use crate::record::Slice;
use brunt_results::env::Idle;
use brunt_results::figure::{COST, Figure, P50, P99, RATE};
use std::collections::BTreeMap;

/// Chance of a false alarm of one kind, over all comparisons.
const CHANCE: f64 = 0.01;
/// Carry-over from the slice before, as a share of the figure.
const CARRY_OVER: f64 = 0.003;

/// Standard deviations from which a test raises an alarm: 2.58 for a single one.
#[derive(Debug, Clone, Copy)]
pub struct Strictness(f64);

impl Strictness {
    /// For this many comparisons (Bonferroni).
    pub fn of(tests: usize) -> Self {
        let confidence = 1.0 - CHANCE / tests.max(1) as f64;
        Self(brunt_statistics::student::two_sided_quantile(confidence, 1e6))
    }
}

/// Whether the figure is tested: those that lead a comparison.
pub fn is_tested(figure: &Figure, open_loop: bool) -> bool {
    [&COST, if open_loop { &P50 } else { &RATE }].contains(&figure)
}

/// Rounds that do not count, and targets that are busy while idle.
pub fn of_the_machine(rounds: &Rounds) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    if rounds.too_many_void() {
        alarms.push(Alarm::Void { rounds: rounds.void, of: rounds.all() });
    }
    let idle = while_others_have_load(rounds, |slice| &slice.idle_cpu_us);
    alarms.extend(idle.map(|(target, percent)| Alarm::IdleBurn { target, percent }));
    let shared = while_others_have_load(rounds, |slice| &slice.shared_cpu_us);
    alarms.extend(shared.map(|(target, percent)| Alarm::Shared { target, percent }));
    alarms
}

/// Targets that use CPU time in the slices of others, in percent of a core.
fn while_others_have_load<'a>(
    rounds: &'a Rounds,
    times: impl Fn(&'a Slice) -> &'a Vec<(String, f64)> + 'a,
) -> impl Iterator<Item = (String, f64)> + 'a {
    rounds.names.iter().filter_map(move |name| {
        let others = || rounds.slices.iter().filter(|slice| slice.target != *name);
        let used: f64 = others().flat_map(&times).filter(|(target, _)| target == name).map(|(_, cpu_us)| cpu_us).sum();
        let time: u64 = others().map(|slice| slice.busy_us).sum();
        let percent = 100.0 * used / time.max(1) as f64;
        Idle { cpu_percent: percent, frozen_by: None }.burns().then(|| (name.to_string(), percent))
    })
}

/// Whether the p99 of a typical slice and of all slices merged differ from the baseline's by different factors.
pub fn rare_stalls(target: &TargetComparison) -> Option<Alarm> {
    let typical = target.ratio(&P99)?;
    let [merged, low, high] = target.p99_merged.as_ref()?.ratio?;
    let apart = typical.high < low || high < typical.low;
    apart.then(|| Alarm::RareStalls { target: target.target.clone(), typical: typical.ratio, merged })
}

/// Dependence, carry-over and dependence on the machine's state of one comparison.
pub fn of_a_figure(
    one: &Compared,
    rounds: &Rounds,
    baseline: usize,
    margin: f64,
    strictness: Strictness,
) -> Vec<Alarm> {
    let (target, figure) = (rounds.names[one.target].to_string(), one.figure);
    let mut alarms = Vec::new();
    if let Some(lag1) = dependence(one, strictness) {
        alarms.push(Alarm::Dependence { target: target.clone(), figure, lag1 });
    }
    let after = (0..rounds.names.len()).filter_map(|before| carry_over(one, rounds, baseline, before, strictness));
    if let Some(share) = after.max_by(|a, b| a.abs().total_cmp(&b.abs())) {
        alarms.push(Alarm::CarryOver { target: target.clone(), figure, share: share.exp_m1() });
    }
    if let Some((fast, slow)) = state(one, rounds, baseline, margin, strictness) {
        alarms.push(Alarm::State { target, figure, fast, slow });
    }
    alarms
}

/// The differences less their centre.
fn residuals(one: &Compared) -> Vec<f64> {
    one.within.centred.iter().map(|value| value - one.within.estimate).collect()
}

/// Correlation of neighbouring differences of one start.
fn dependence(one: &Compared, Strictness(z): Strictness) -> Option<f64> {
    let e = residuals(one);
    let products: Vec<f64> = (1..e.len())
        .filter(|index| one.series.starts[*index] == one.series.starts[index - 1])
        .map(|index| e[index] * e[index - 1])
        .collect();
    let lag1 = products.iter().sum::<f64>() / e.iter().map(|e| e * e).sum::<f64>();
    (deviations(&products) > z).then_some(lag1)
}

/// Standard deviations of a sum from 0.
fn deviations(products: &[f64]) -> f64 {
    let squares: f64 = products.iter().map(|product| product * product).sum();
    let sum: f64 = products.iter().sum();
    if squares > 0.0 { sum.abs() / squares.sqrt() } else { 0.0 }
}

/// Slope of the residuals on `x`, if it is significant. `None` stands for rounds without an `x`. The error is that of a slope of 0:
/// the line through a round far from all others would leave nothing of it.
fn slope(x: &[Option<f64>], e: &[f64], Strictness(z): Strictness) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = x.iter().zip(e).filter_map(|(x, e)| x.map(|x| (x, *e))).collect();
    let n = pairs.len() as f64;
    let mean_x = pairs.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_e = pairs.iter().map(|(_, e)| e).sum::<f64>() / n;
    let squares: f64 = pairs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let products: Vec<f64> = pairs.iter().map(|(x, e)| (x - mean_x) * (e - mean_e)).collect();
    (n > 10.0 && deviations(&products) > z).then(|| products.iter().sum::<f64>() / squares)
}

/// By how much the figure is higher after a slice of `before`: regression on whether it preceded target or baseline.
fn carry_over(one: &Compared, rounds: &Rounds, baseline: usize, before: usize, strictness: Strictness) -> Option<f64> {
    let after = |slices: &[usize]| -> Option<f64> {
        let after: Vec<usize> = slices.iter().map(|slice| rounds.before(*slice)).collect::<Option<_>>()?;
        Some(after.iter().filter(|target| **target == before).count() as f64 / after.len().max(1) as f64)
    };
    let x = |round: &usize| {
        let of = &rounds.counted[*round].of;
        Some(after(&of[one.target])? - after(&of[baseline])?)
    };
    let x: Vec<Option<f64>> = one.series.rounds.iter().map(x).collect();
    slope(&x, &residuals(one), strictness).filter(|share| share.abs() > CARRY_OVER)
}

/// The ratio in the machine's fast and slow rounds, a tenth from either end, where they differ by more than the margin. The
/// level of a round is that of the other targets' figure, or of both if there are only two.
fn state(one: &Compared, rounds: &Rounds, baseline: usize, margin: f64, strictness: Strictness) -> Option<(f64, f64)> {
    let others: Vec<usize> = match rounds.names.len() {
        2 => vec![one.target, baseline],
        all => (0..all).filter(|other| *other != one.target && *other != baseline).collect(),
    };
    let levels: Vec<Option<f64>> =
        one.series.rounds.iter().map(|round| level(rounds, *round, &others, one.figure)).collect();
    let levels = less_starts(&levels, &one.series.starts);
    let slope = slope(&levels, &residuals(one), strictness)?;
    let mut sorted: Vec<f64> = levels.into_iter().flatten().collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| (one.within.estimate + slope * sorted[(share * (sorted.len() - 1) as f64) as usize]).exp();
    let (low, high) = (at(0.1), at(0.9));
    // A high rate is fast, a high cost or time is slow.
    let (fast, slow) = if *one.figure == RATE { (high, low) } else { (low, high) };
    ((fast / slow).ln().abs() > margin.ln_1p()).then_some((fast, slow))
}

/// Mean logarithm of rate or cost over the targets of a round; for a median of response times, of cost.
fn level(rounds: &Rounds, round: usize, targets: &[usize], figure: &Figure) -> Option<f64> {
    let slices: Vec<usize> = targets.iter().flat_map(|target| rounds.counted[round].of[*target].clone()).collect();
    let figure = if *figure == RATE { &RATE } else { &COST };
    let sum = slices
        .iter()
        .map(|slice| super::differences::logarithm(figure, &rounds.slices[*slice]))
        .sum::<Option<f64>>()?;
    (!slices.is_empty()).then(|| sum / slices.len() as f64)
}

/// Levels less the mean of their start.
fn less_starts(levels: &[Option<f64>], starts: &[u32]) -> Vec<Option<f64>> {
    let mean = |start: u32| {
        let own: Vec<f64> = levels.iter().zip(starts).filter(|(_, of)| **of == start).filter_map(|(l, _)| *l).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    let means: BTreeMap<u32, f64> = starts.iter().map(|start| (*start, mean(*start))).collect();
    levels.iter().zip(starts).map(|(level, start)| level.map(|level| level - means[start])).collect()
}
