//! Ratios to the baseline by round, in the order of time: slow spells, drift and single rounds that weigh too much are seen.

use brunt_results::figure::{COST, Figure, P50, RATE};
use brunt_slices::{Rounds, Slice, SlicedLoad};

/// The counted rounds of one load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Differences {
    /// Begin of each start but the first, in seconds since the first slice of the load.
    pub starts_s: Vec<f64>,
    /// Begin of each round.
    pub at_s: Vec<f64>,
    /// Of all targets but the baseline.
    pub series: Vec<TargetSeries>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TargetSeries {
    pub target: String,
    pub figure: &'static Figure,
    /// Target over baseline, by round; absent where either has no such figure.
    pub ratios: Vec<Option<f64>>,
}

impl Differences {
    pub fn of(load: &SlicedLoad, targets: &[String], baseline: &str) -> Self {
        let names: Vec<&str> = targets.iter().map(String::as_str).collect();
        let rounds = Rounds::of(&load.slices, &names);
        let Some(base) = names.iter().position(|name| *name == baseline) else { return Self::default() };
        let begins_s = begins(&load.slices);
        let mut series = Vec::new();
        for (target, name) in names.iter().enumerate().filter(|(target, _)| *target != base) {
            for figure in shown(load.open_loop) {
                let ratio = |round: &[Vec<usize>]| {
                    let level = |of: usize| level(&round[of], |slice| load.slices[slice].value(figure));
                    Some((level(target)? - level(base)?).exp())
                };
                let ratios: Vec<Option<f64>> = rounds.counted.iter().map(|round| ratio(&round.of)).collect();
                if ratios.iter().any(Option::is_some) {
                    series.push(TargetSeries { target: (*name).to_owned(), figure, ratios });
                }
            }
        }
        let first = |round: &[Vec<usize>]| round.iter().flatten().min().copied().unwrap_or(0);
        let at_s = rounds.counted.iter().map(|round| begins_s[first(&round.of)]).collect();
        let starts = load.slices.windows(2).enumerate().filter(|(_, pair)| pair[0].start != pair[1].start);
        let starts_s = starts.map(|(before, _)| begins_s[before + 1]).collect();
        Self { starts_s, at_s, series }
    }
}

impl Differences {
    /// With target names prefixed by the name of their run.
    pub fn named(&self, run: &str) -> Self {
        let series = self.series.iter().cloned();
        let series = series.map(|one| TargetSeries { target: format!("{run}: {}", one.target), ..one });
        Self { series: series.collect(), ..self.clone() }
    }
}

/// The figures that lead the comparison.
fn shown(open_loop: bool) -> [&'static Figure; 2] {
    if open_loop { [&P50, &COST] } else { [&RATE, &COST] }
}

/// Begin of every slice in seconds, with the starts one after another.
fn begins(slices: &[Slice]) -> Vec<f64> {
    let (mut offset, mut end) = (0, 0);
    let mut begins = Vec::with_capacity(slices.len());
    for (index, slice) in slices.iter().enumerate() {
        if index > 0 && slices[index - 1].start != slice.start {
            offset = end;
        }
        end = offset + slice.at_us + slice.busy_us;
        begins.push((offset + slice.at_us) as f64 / 1e6);
    }
    begins
}

/// Mean logarithm over the slices that a target has in a round.
fn level(slices: &[usize], value: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let values = slices.iter().map(|slice| value(*slice).filter(|value| *value > 0.0).map(f64::ln));
    let sum = values.sum::<Option<f64>>()?;
    (!slices.is_empty()).then(|| sum / slices.len() as f64)
}
