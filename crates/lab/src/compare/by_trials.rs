//! The targets of an experiment by trials against its baseline, as slices would be compared: for the answer in a sentence.

use super::{Group, MetricComparison, Pair, metric_comparison, pair};
use crate::group::grouped;
use brunt_results::comparison::{Ratio, UNKNOWN};
use brunt_results::figure;
use brunt_results::result::Errors;
use brunt_slices::{LoadComparison, TargetComparison};
use std::collections::BTreeMap;

/// One comparison for each load in which repeats tell a target from the baseline, or that they do not differ; such targets only.
pub fn by_trials(groups: &[Group], baseline: &str, margin: f64) -> Vec<LoadComparison> {
    let mut pairs: Vec<(&str, &Group, Pair)> = Vec::new();
    for (load, groups) in grouped(groups.iter().map(|group| (group.combination.as_str(), group))) {
        let Some(base) = groups.iter().find(|group| group.target == baseline) else { continue };
        let others = groups.iter().filter(|group| group.target != baseline);
        pairs.extend(others.map(|other| (load, *other, pair(load.to_owned(), [base, other], true, &[]))));
    }
    let mut findings: Vec<&mut MetricComparison> = pairs.iter_mut().flat_map(|(.., pair)| &mut pair.figures).collect();
    metric_comparison::conclude(&mut findings, margin);
    let mut comparisons: Vec<LoadComparison> = Vec::new();
    for (load, other, pair) in pairs.iter().filter(|(.., pair)| !pair.is_untrusted()) {
        let target = target(&other.target, pair);
        if !is_answered(&target, other.is_open()) {
            continue;
        }
        match comparisons.last_mut().filter(|last| last.load == *load) {
            Some(last) => last.targets.push(target),
            None => comparisons.push(LoadComparison {
                load: (*load).to_owned(),
                open_loop: other.is_open(),
                baseline: baseline.to_owned(),
                margin,
                precision: margin / 2.0,
                rounds: pair.repeats[0],
                void: 0,
                starts: pair.repeats[0],
                seconds: 0.0,
                targets: vec![target],
                alarms: Vec::new(),
                notes: Vec::new(),
            }),
        }
    }
    comparisons
}

/// Whether one of the figures of the sentence has an answer.
fn is_answered(target: &TargetComparison, open_loop: bool) -> bool {
    let figures = [&figure::COST, if open_loop { &figure::P50 } else { &figure::RATE }];
    figures.iter().filter_map(|figure| target.ratio(figure)).any(|ratio| ratio.verdict.is_answer())
}

fn target(name: &str, pair: &Pair) -> TargetComparison {
    // Sentences name rounds, not repeats, as what would give an answer.
    let ratio = |found: &MetricComparison| {
        let ratio = found.ratio.clone()?;
        let verdict = if ratio.verdict.is_answer() { ratio.verdict } else { UNKNOWN };
        Some(Ratio { verdict, ..ratio })
    };
    TargetComparison {
        target: name.to_owned(),
        failed: 0,
        errors: Errors::default(),
        figures: BTreeMap::new(),
        ratios: pair.figures.iter().filter_map(ratio).collect(),
        p99_merged: None,
        p999_merged: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::RunResult;
    use brunt_slices::sentence;

    fn group(target: &str, load: &str, rate: f64) -> Group {
        let results = [1.0, 1.004, 0.997, 1.001, 1.006, 0.995].map(|noise| {
            let mut result = RunResult::new("test");
            result.requests.rate = rate * noise;
            result.server.cpu_us_per_request = Some(1e6 / rate * noise);
            result
        });
        let repeats = (1..=6).collect();
        Group { target: target.into(), combination: load.into(), results: results.into(), repeats, ..Group::default() }
    }

    #[test]
    fn a_sentence_has_the_targets_that_repeats_can_tell() {
        let mut noisy = group("noisy", "size=1B", 1000.0);
        for (index, result) in noisy.results.iter_mut().enumerate() {
            result.requests.rate *= if index % 2 == 0 { 1.3 } else { 0.8 };
            result.server.cpu_us_per_request = None;
        }
        let alone = group("fast", "size=9B", 1000.0);
        let groups = [group("base", "size=1B", 1000.0), group("fast", "size=1B", 1250.0), noisy, alone];
        let [load] = &by_trials(&groups, "base", 0.03)[..] else { panic!("one load has a baseline") };
        let said = sentence(load);
        assert!(said.starts_with("fast serves 1.25"), "{said}");
        assert!(said.contains("x base [1.2") && said.contains(" at 0.80") && !said.contains("noisy"), "{said}");
        assert!(by_trials(&groups, "none", 0.03).is_empty());
    }
}
