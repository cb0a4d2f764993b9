//! Differences of logarithms between a target and the baseline, one a round.

use super::rounds::{Round, Rounds};
use crate::record::Slice;
use brunt_results::figure::{COST, Figure, MEAN, RATE};
use brunt_results::hlog::Counts;
use brunt_statistics::{supported, supports_quantile};

/// The response times of every slice, by its index; `None` without replies, and for a histogram that cannot be read.
pub struct Readings(Vec<Option<Counts>>);

impl Readings {
    pub fn of(slices: &[Slice]) -> Self {
        Self(slices.iter().map(|slice| slice.counts().ok().filter(|counts| !counts.is_empty())).collect())
    }

    pub fn merged<'a>(&'a self, indices: impl IntoIterator<Item = &'a usize>) -> Counts {
        Counts::merged(indices.into_iter().filter_map(|index| self.0[*index].as_ref()))
    }
}

/// The differences of one figure of one target, in the order of the rounds.
#[derive(Debug, Default)]
pub struct Series {
    pub values: Vec<f64>,
    /// Start of each.
    pub starts: Vec<u32>,
    /// Index of the counted round of each; the last one of a group.
    pub rounds: Vec<usize>,
}

impl Series {
    pub fn of(figure: &Figure, rounds: &Rounds, readings: &Readings, target: usize, baseline: usize) -> Self {
        let is_told = rounds.slices.iter().all(|slice| !slice.has_distribution());
        match figure.quantile() {
            _ if is_told => of_rounds(rounds, target, baseline, |index| told(figure, &rounds.slices[index])),
            Some(q) => of_quantile(q, rounds, readings, target, baseline),
            None if *figure == MEAN => {
                of_rounds(rounds, target, baseline, |index| readings.0[index].as_ref().map(|counts| counts.mean().ln()))
            }
            None => of_counts(figure, rounds, target, baseline),
        }
    }

    fn push(&mut self, value: f64, start: u32, round: usize) {
        self.values.push(value);
        self.starts.push(start);
        self.rounds.push(round);
    }
}

/// Differences of rate or cost, for which no histogram is read.
pub fn of_counts(figure: &Figure, rounds: &Rounds, target: usize, baseline: usize) -> Series {
    of_rounds(rounds, target, baseline, |index| logarithm(figure, &rounds.slices[index]))
}

/// Logarithm of rate or cost. A slice without replies has the rate of half a one: it ranks below all others.
pub fn logarithm(figure: &Figure, slice: &Slice) -> Option<f64> {
    let value = match figure {
        rate if *rate == RATE => Some(slice.rate().max(0.5e6 / slice.window_us as f64)),
        cost if *cost == COST => slice.cpu_us_per_request(),
        _ => None,
    };
    value.map(f64::ln).filter(|value| value.is_finite())
}

/// Logarithm of a figure of a slice whose times are those that a tester reports: the quantiles of slices cannot be merged.
fn told(figure: &Figure, slice: &Slice) -> Option<f64> {
    if figure.times.is_none() {
        return logarithm(figure, slice);
    }
    let us = match figure.quantile() {
        Some(q) => supported(&slice.latency, q, slice.value(figure)),
        None => slice.value(figure),
    };
    us.map(f64::ln).filter(|value| value.is_finite())
}

/// Mean over the slices that a target has in a round.
fn level(indices: &[usize], of: &impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let sum: f64 = indices.iter().map(|index| of(*index)).sum::<Option<f64>>()?;
    (!indices.is_empty()).then(|| sum / indices.len() as f64)
}

fn of_rounds(rounds: &Rounds, target: usize, baseline: usize, of: impl Fn(usize) -> Option<f64>) -> Series {
    let mut series = Series::default();
    for (index, round) in rounds.counted.iter().enumerate() {
        if let (Some(value), Some(base)) = (level(&round.of[target], &of), level(&round.of[baseline], &of)) {
            series.push(value - base, round.start, index);
        }
    }
    series
}

/// Differences of a quantile: of single rounds where both targets have replies enough for it, else of as many consecutive rounds
/// of one start as it takes. Rounds that remain at the end of a start join its last group.
fn of_quantile(q: f64, rounds: &Rounds, readings: &Readings, target: usize, baseline: usize) -> Series {
    let mut series = Series::default();
    let mut from = 0;
    for start in rounds.counted.chunk_by(|a, b| a.start == b.start) {
        for group in groups(start, readings, [target, baseline], q) {
            let of = |target: usize| {
                readings.merged(group.clone().flat_map(|index| &start[index].of[target])).quantile(q) as f64
            };
            let value = of(target).ln() - of(baseline).ln();
            if value.is_finite() {
                series.push(value, start[0].start, from + group.end - 1);
            }
        }
        from += start.len();
    }
    series
}

/// Ranges of rounds in which both targets have enough replies.
fn groups(start: &[Round], readings: &Readings, targets: [usize; 2], q: f64) -> Vec<std::ops::Range<usize>> {
    let count = |index: usize, target: usize| -> u64 {
        start[index].of[target].iter().filter_map(|slice| readings.0[*slice].as_ref()).map(Counts::total).sum()
    };
    let (mut groups, mut from, mut counts): (Vec<std::ops::Range<usize>>, _, _) = (Vec::new(), 0, [0u64; 2]);
    for index in 0..start.len() {
        for (sum, target) in counts.iter_mut().zip(targets) {
            *sum += count(index, target);
        }
        if counts.iter().all(|count| supports_quantile(*count as f64, 1.0 - q)) {
            groups.push(from..index + 1);
            (from, counts) = (index + 1, [0; 2]);
        }
    }
    if let Some(last) = groups.last_mut().filter(|_| counts.iter().any(|count| *count > 0)) {
        last.end = start.len();
    }
    groups
}
