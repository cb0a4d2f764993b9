//! p99 and p99.9 of all counted slices together, which hold the stalls that are rarer than a slice.

use super::differences::Readings;
use super::rounds::Rounds;
use crate::comparison::{FIGURES, Merged, TargetComparison};
use crate::record::Slice;
use brunt_results::figure::Figure;
use brunt_results::hlog::Counts;
use brunt_results::result::Errors;
use brunt_statistics::{below, median, supports_quantile};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

const RESAMPLES: usize = 400;
/// Fewer rounds have no interval.
const LEAST_ROUNDS: usize = 6;
const SEED: u64 = 1;
/// Resampled quantiles are looked for above this one, for speed.
const TAIL: f64 = 0.9;

/// Targets with failures and merged quantiles, without ratios of slices.
pub fn targets(rounds: &Rounds, readings: &Readings, baseline: &str) -> Vec<TargetComparison> {
    let merged: Vec<Target> = (0..rounds.names.len()).map(|target| Target::of(rounds, readings, target)).collect();
    let base = rounds.names.iter().position(|name| *name == baseline).map(|index| &merged[index]);
    let of = |(index, name): (usize, &&str)| {
        let own = || rounds.slices.iter().filter(|slice| slice.target == **name);
        let longer = |slice: &Slice, figure: &Figure| {
            if slice.is_bound(figure) { Some(f64::INFINITY) } else { slice.value(figure) }
        };
        let middle = |figure: &'static Figure| {
            let middle = median(own().map(|slice| longer(slice, figure)))?;
            middle.is_finite().then_some((figure.key, middle))
        };
        let quantile = |q: f64| {
            let base = base.filter(|_| **name != *baseline);
            merged[index].has(q).then(|| Merged {
                us: merged[index].all.quantile(q) as f64 / 1e3,
                ratio: base.and_then(|base| ratio(&merged[index], base, q)),
                machines: lost_share(rounds, index) > 1.0 - q,
            })
        };
        let mut errors = Errors::default();
        own().for_each(|slice| errors.add(&slice.errors));
        TargetComparison {
            target: name.to_string(),
            failed: own().map(|slice| slice.failed.max(slice.errors.total())).sum(),
            errors,
            figures: FIGURES.into_iter().filter_map(middle).collect(),
            ratios: Vec::new(),
            p99_merged: quantile(0.99),
            p999_merged: quantile(0.999),
        }
    };
    rounds.names.iter().enumerate().map(of).collect()
}

/// Share of the target's time that the machine took.
fn lost_share(rounds: &Rounds, target: usize) -> f64 {
    let busy: u64 = rounds.slices_of(target).map(|slice| slice.busy_us).sum();
    rounds.slices_of(target).map(|slice| slice.lost_us).sum::<f64>() / (busy as f64).max(1.0)
}

/// One target's response times, all and by round.
struct Target {
    all: Counts,
    /// Distinct values of the tail, descending.
    values: Vec<u64>,
    /// By round: replies, and of those in the tail the index into `values` and their count.
    rounds: Vec<(u64, Vec<(usize, u64)>)>,
}

impl Target {
    fn of(rounds: &Rounds, readings: &Readings, target: usize) -> Self {
        let by_round: Vec<Counts> = rounds.counted.iter().map(|round| readings.merged(&round.of[target])).collect();
        let all = Counts::merged(&by_round);
        let least = all.quantile(TAIL);
        let values: Vec<u64> = all.iter().rev().map(|(value, _)| value).take_while(|v| *v >= least).collect();
        let tail = |round: Counts| {
            let entry = |(value, count): (u64, u64)| {
                let index = values.binary_search_by(|other| value.cmp(other));
                index.ok().map(|index| (index, count))
            };
            (round.total(), round.iter().filter_map(entry).collect())
        };
        let rounds = by_round.into_iter().map(tail).collect();
        Self { all, values, rounds }
    }

    fn has(&self, q: f64) -> bool {
        supports_quantile(self.all.total() as f64, 1.0 - q)
    }

    /// The quantile with every round taken as often as `times` says; `beyond` is room for the counts by value.
    fn resampled(&self, times: &[u64], q: f64, beyond: &mut Vec<u64>) -> f64 {
        beyond.clear();
        beyond.resize(self.values.len(), 0);
        let mut all = 0;
        for ((count, tail), times) in self.rounds.iter().zip(times).filter(|(_, times)| **times > 0) {
            all += count * times;
            for (index, count) in tail {
                beyond[*index] += count * times;
            }
        }
        let allowed = all - ((q * all as f64).ceil() as u64).clamp(1, all.max(1)).min(all);
        let mut above = 0;
        let found = beyond.iter().position(|count| {
            above += count;
            above > allowed
        });
        found.or(self.values.len().checked_sub(1)).map_or(f64::NAN, |index| self.values[index] as f64)
    }
}

/// Ratio to the baseline with its 95 % interval: percentiles of a bootstrap over rounds, the same rounds for both (Efron 1979).
fn ratio(target: &Target, base: &Target, q: f64) -> Option<[f64; 3]> {
    let rounds = target.rounds.len();
    if rounds < LEAST_ROUNDS || !base.has(q) {
        return None;
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let (mut times, mut room) = (vec![0; rounds], Vec::new());
    let mut ratios: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        times.fill(0);
        for _ in 0..rounds {
            times[below(rounds as u64, &mut random) as usize] += 1;
        }
        ratios.push(target.resampled(&times, q, &mut room) / base.resampled(&times, q, &mut room));
    }
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[(share * (RESAMPLES - 1) as f64).round() as usize];
    let ratio = target.all.quantile(q) as f64 / base.all.quantile(q) as f64;
    let found = [ratio, at(0.025).min(ratio), at(0.975).max(ratio)];
    found.iter().all(|value| value.is_finite()).then_some(found)
}
