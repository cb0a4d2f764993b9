//! How often the intervals hold the truth, and how often answers are wrong.

use crate::chance::{experiments, share};
use crate::machine::{Experiment, holds, ratio};
use brunt_lab::slices::Figure;

#[test]
fn intervals_hold_the_truth_with_the_stopping_rule() {
    for (figure, truth, by_cost) in [(Figure::Cost, 1.05, true), (Figure::Rate, 1.0 / 1.05, false)] {
        let experiment = Experiment { by_cost, ..Experiment::new(&[1.0, 1.05], 240).until(0.02) };
        let held = experiments(1000, |seed| holds(ratio(&experiment.run(seed, 0.04), "one", figure), truth));
        let held = share(&held, |held| *held);
        assert!((0.935..=0.97).contains(&held), "{figure:?} {held}");
    }
}
