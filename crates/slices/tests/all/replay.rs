//! Experiments on recorded noise: how often the intervals hold a known difference, and how often equal targets are called different.

use crate::machine::{holds, ratio};
use crate::recorded::Replay;
use brunt_results::comparison::Verdict;
use brunt_results::figure::{COST, Figure, P50, RATE};
use brunt_slices::LoadComparison;
use brunt_testkit::chance::{experiments, share};

const FIGURES: [&Figure; 3] = [&COST, &RATE, &P50];

fn are_different(comparison: &LoadComparison) -> bool {
    FIGURES.iter().any(|figure| ratio(comparison, "one", figure).verdict == Verdict::Different)
}

/// Four thousand show a coverage to within 0.7.
#[test]
fn intervals_hold_a_known_difference_with_the_stopping_rule() {
    let replay = Replay::new(1.05, 1, 160).until(0.01);
    let truths = [(&COST, 1.05), (&RATE, 1.0 / 1.05)];
    let all = experiments(4000, |seed| {
        let comparison = replay.run(seed, 0.02);
        truths.map(|(figure, truth)| {
            let found = ratio(&comparison, "one", figure);
            let is_wrong = found.verdict == Verdict::Different && (found.ratio > 1.0) != (truth > 1.0);
            (holds(found, truth), is_wrong)
        })
    });
    for (index, (figure, _)) in truths.iter().enumerate() {
        let held = share(&all, |found| found[index].0);
        println!("known difference, {figure:?}: held in {held}");
        assert!((0.935..=0.97).contains(&held), "{figure:?} {held}");
        assert!(share(&all, |found| found[index].1) < 0.001, "{figure:?}");
    }
}

#[test]
fn twins_are_rarely_called_different() {
    let all = experiments(1000, |seed| Replay::new(1.0, 1, 160).until(0.01).run(seed, 0.02));
    let different = share(&all, are_different);
    println!("twins: different in {different}");
    assert!(different <= 0.05, "{different}");
    let beyond = |comparison: &LoadComparison| {
        let cost = ratio(comparison, "one", &COST);
        cost.verdict == Verdict::Different && cost.ratio.ln().abs() > 0.02f64.ln_1p()
    };
    assert!(share(&all, beyond) < 0.005);
}

/// The processes of a recording differ by several percent, which is what starts are for.
#[test]
fn starts_hold_what_a_single_one_cannot_know() {
    for precision in [0.02, 0.04] {
        let all = experiments(1000, |seed| Replay::new(1.0, 20, 5).until(precision).run(seed, 2.0 * precision));
        for figure in FIGURES {
            let held = share(&all, |comparison| holds(ratio(comparison, "one", figure), 1.0));
            println!("starts until {precision}, {figure:?}: held in {held}");
            assert!((0.935..=0.97).contains(&held), "{precision}, {figure:?}: {held}");
        }
        let starts = all.iter().map(|comparison| comparison.starts).sum::<usize>() as f64 / all.len() as f64;
        let different = share(&all, are_different);
        println!("starts until {precision}: {starts} starts, different in {different}");
        assert!(different <= 0.05, "{precision}: {different}");
    }
}
