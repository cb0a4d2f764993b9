//! Verdicts of `brunt compare` over hundreds of simulated experiments with the repeats of `brunt compare --plan`
//! and the noise of a quiet machine: identical targets are "no difference" or at worst "cannot tell"; a target slowed
//! by 5 % is found.

use brunt_lab::compare::{Comparison, Group, MARGIN, ResultSet, compare};
use brunt_results::comparison::Verdict;
use brunt_results::{Figure, LatencySummary, RunResult, figure, result::Requests};
use brunt_testkit::chance::{Chance, share_of};

const REPEATS: usize = 16;
const NOISE: f64 = 0.02;

/// Trials of a target slowed by a factor; `spells` is the probability of a disturbed trial.
fn trials(chance: &mut Chance, slower: f64, spells: f64) -> Vec<RunResult> {
    let one = |_| {
        let spell = if chance.uniform() < spells { 1.25 } else { 1.0 };
        let slow = slower * spell * (NOISE * chance.normal()).exp();
        let p99_us = 800.0 * slow * (0.08 * chance.normal()).exp();
        let mut result = RunResult::new("test");
        let response =
            LatencySummary { count: 100_000, p50_us: Some(400.0 * slow), p99_us: Some(p99_us), ..Default::default() };
        result.requests = Requests { completed: 100_000, rate: 200_000.0 / slow, ..Default::default() };
        result.latency.response = response;
        result.server.cpu_us_per_request = Some(5.0 * slow);
        result
    };
    (0..REPEATS).map(one).collect()
}

fn compared(chance: &mut Chance, slower: f64, spells: f64) -> Comparison {
    let mut side = |name: &str, slower: f64| ResultSet {
        name: name.to_owned(),
        run: None,
        groups: vec![Group { id: name.to_owned(), results: trials(chance, slower, spells), ..Group::default() }],
    };
    let (a, b) = (side("a", 1.0), side("b", slower));
    compare(&a, &b, MARGIN).unwrap()
}

fn verdict(comparison: &Comparison, figure: &Figure) -> Verdict {
    let finding = comparison.cells[0].figures.iter().find(|finding| finding.figure == figure).unwrap();
    finding.verdict().clone()
}

#[test]
fn identical_targets_do_not_differ() {
    let mut chance = Chance::new(21);
    let comparisons: Vec<Comparison> = (0..200).map(|_| compared(&mut chance, 1.0, 0.0)).collect();
    let mut all = comparisons.iter();
    let same = share_of(200, || verdict(all.next().unwrap(), &figure::RATE) == Verdict::NoDifference);
    assert!(same >= 0.95, "{same}");
    let mut all = comparisons.iter();
    let false_alarm = share_of(200, || {
        all.next().unwrap().cells[0].figures.iter().any(|found| *found.verdict() == Verdict::Different)
    });
    assert!(false_alarm <= 0.05, "{false_alarm}");
}

#[test]
fn disturbances_are_no_difference() {
    let mut chance = Chance::new(22);
    let false_alarm = share_of(200, || {
        compared(&mut chance, 1.0, 0.15).cells[0].figures.iter().any(|found| *found.verdict() == Verdict::Different)
    });
    assert!(false_alarm <= 0.05, "{false_alarm}");
}

#[test]
fn a_target_slowed_by_five_percent_is_found() {
    let mut chance = Chance::new(23);
    let found = share_of(200, || {
        let comparison = compared(&mut chance, 1.05, 0.0);
        let change = comparison.cells[0].figures[0].ratio.as_ref().unwrap().change();
        verdict(&comparison, &figure::RATE) == Verdict::Different && (-0.08..-0.02).contains(&change)
    });
    assert!(found >= 0.95, "{found}");
}

/// Two targets of one experiment on a machine whose speed varies by a tenth between repeats.
fn wandering(chance: &mut Chance, slower: f64, in_pairs: bool) -> Comparison {
    let paces: Vec<f64> = chance.series(REPEATS, 0.8).into_iter().map(|x| (0.1 * x).exp()).collect();
    let mut side = |name: &str, slower: f64| {
        let mut results = trials(chance, slower, 0.0);
        for (result, pace) in results.iter_mut().zip(&paces) {
            result.requests.rate *= pace;
        }
        let repeats = (1..=REPEATS as u32).collect();
        let groups = vec![Group { id: name.to_owned(), results, repeats, ..Group::default() }];
        ResultSet { name: name.to_owned(), run: in_pairs.then(|| "runs/x".into()), groups }
    };
    let (a, b) = (side("a", 1.0), side("b", slower));
    compare(&a, &b, MARGIN).unwrap()
}

#[test]
fn pairs_cancel_out_a_varying_machine() {
    let mut chance = Chance::new(24);
    let mut shares = |slower: f64, in_pairs: bool, wanted: Verdict| {
        share_of(200, || verdict(&wandering(&mut chance, slower, in_pairs), &figure::RATE) == wanted)
    };
    let same = shares(1.0, true, Verdict::NoDifference);
    let false_alarm = shares(1.0, true, Verdict::Different);
    let found = shares(1.05, true, Verdict::Different);
    let without = shares(1.05, false, Verdict::Different);
    assert!(same >= 0.93 && false_alarm <= 0.03 && found >= 0.95, "{same} {false_alarm} {found}");
    assert!(without < 0.5, "{without}");
}
