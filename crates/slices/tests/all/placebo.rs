//! Placebo: recorded slices of equal targets with their labels drawn anew within each round. The true ratio is 1 whatever the
//! machine did.

use crate::machine::{holds, ratio};
use crate::recorded::Replay;
use brunt_results::figure::{COST, P50, RATE};
use brunt_slices::Alarm;
use brunt_testkit::chance::{experiments, share};

#[test]
fn labels_drawn_at_random_make_no_difference() {
    let all = experiments(1000, |seed| Replay::new(1.0, 1, 60).run(seed, 0.03));
    for figure in [&COST, &RATE, &P50] {
        let held = share(&all, |comparison| holds(ratio(comparison, "one", figure), 1.0));
        println!("placebo, {figure:?}: held in {held}");
        // The interval is widened for a stopping rule, which is not at work here: 96.4 % for any fixed number of rounds.
        assert!((0.945..=0.985).contains(&held), "{figure:?} {held}");
    }
    let is_void = |alarm: &Alarm| matches!(alarm, Alarm::Void { .. });
    let alarmed = share(&all, |comparison| comparison.alarms.iter().any(|alarm| !is_void(alarm)));
    println!("alarms without a cause: {alarmed}");
    // Three kinds with a chance of 1 % each; that of void rounds has a cause.
    assert!(alarmed < 0.05, "{alarmed}");
}
