//! Placebo: the slices of `recorded.jsonl`, made of targets that are equal, with their labels drawn anew within each round. The
//! true ratio is 1 whatever the machine did. Any `slices.jsonl` of equal targets can take the file's place.

use crate::chance::{Chance, experiments, share};
use crate::machine::{holds, ratio};
use brunt_lab::slices::{Figure, Settings, Slice, SlicedLoad, compare};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slices/recorded.jsonl");

fn recorded() -> Vec<Slice> {
    let text = std::fs::read_to_string(RECORDED).expect("the file is part of the tests");
    text.lines().map(|line| serde_json::from_str(line).expect("a slice a line")).collect()
}

#[test]
fn labels_drawn_at_random_make_no_difference() {
    let recorded = recorded();
    let mut names: Vec<String> = recorded.iter().map(|slice| slice.target.clone()).collect();
    names.sort();
    names.dedup();
    let settings = Settings { margin: 0.03, precision: 0.015 };
    let all = experiments(1000, |seed| {
        let (mut chance, mut slices) = (Chance::new(seed), recorded.clone());
        for round in slices.chunk_by_mut(|a, b| (a.start, a.round) == (b.start, b.round)) {
            let mut labels: Vec<String> = round.iter().map(|slice| slice.target.clone()).collect();
            chance.shuffle(&mut labels);
            round.iter_mut().zip(labels).for_each(|(slice, label)| slice.target = label);
        }
        let load = SlicedLoad { slices, ..SlicedLoad::default() };
        compare(&[load], &names, &names[0], settings).remove(0)
    });
    for figure in [Figure::Cost, Figure::Rate] {
        let held = share(&all, |comparison| holds(ratio(comparison, &names[1], figure), 1.0));
        // The interval is widened for a stopping rule, which is not at work here: 96.4 % for any fixed number of rounds.
        assert!((0.945..=0.985).contains(&held), "{figure:?} {held}");
    }
    let alarmed = share(&all, |comparison| !comparison.alarms.is_empty());
    assert!(alarmed < 0.08, "{alarmed}");
}
