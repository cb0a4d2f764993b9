//! Rounds that do not count, and alarms.

use crate::recipe::{BASE, Recipe, Target, compared, one, response};
use brunt_results::comparison::Verdict;
use brunt_results::figure::COST;
use brunt_slices::{Alarm, LoadComparison, Slice};
use brunt_testkit::chance::Chance;

fn twins(rounds: u32) -> Vec<Slice> {
    Recipe { rounds, ..Recipe::default() }.slices(&[BASE, one(1.0, 1.0, 1.0)])
}

/// Multiplies the CPU time of a slice.
fn costlier(slice: &mut Slice, by: f64) {
    slice.server_cpu_us = slice.server_cpu_us.map(|cpu| cpu * by);
}

fn alarms(found: &LoadComparison, of: fn(&Alarm) -> bool) -> usize {
    found.alarms.iter().filter(|alarm| of(alarm)).count()
}

#[test]
fn rounds_are_left_out_whole_and_too_many_are_an_alarm() {
    let mut slices = twins(40);
    slices[6].lost_us = 12_000.0;
    slices[9].lost_us = 1e5;
    // Two more that count: 10 % is not more than 10 %.
    slices[20].lost_us = 11_000.0;
    let found = compared(slices.clone());
    assert_eq!((found.rounds, found.void, found.alarms.len()), (38, 2, 0));
    assert_eq!(found.targets[1].ratio(&COST).unwrap().samples, 38);
    slices
        .iter_mut()
        .filter(|slice| slice.round % 3 == 0 && slice.target == "one")
        .for_each(|slice| slice.lost_us = 2e4);
    let found = compared(slices);
    assert_eq!(found.alarms, [Alarm::Void { rounds: found.void, of: 40 }]);
    // What is answered stays so.
    assert_eq!(found.targets[1].ratio(&COST).unwrap().verdict, Verdict::NoDifference);
}

#[test]
fn a_target_that_is_busy_while_idle() {
    let mut slices = twins(20);
    slices.iter_mut().filter(|slice| slice.target == "base").for_each(|slice| {
        slice.idle_cpu_us = vec![("one".into(), 1100.0), ("other".into(), 1e5)];
    });
    let [Alarm::IdleBurn { target, percent }] = &compared(slices).alarms[..] else { panic!("one alarm") };
    assert!(target == "one" && (percent - 1.0).abs() < 1e-9);
}

#[test]
fn neighbours_that_are_alike() {
    let (mut slices, mut chance, mut drift) = (twins(120), Chance::new(3), 0.0);
    for slice in slices.iter_mut().filter(|slice| slice.target == "one") {
        drift = 0.9 * drift + 0.02 * chance.normal();
        costlier(slice, f64::exp(drift));
    }
    let found = compared(slices);
    let is = |alarm: &Alarm| matches!(alarm, Alarm::Dependence { figure, lag1, .. } if **figure == COST && *lag1 > 0.5);
    assert_eq!(alarms(&found, is), 1, "{:?}", found.alarms);
}

#[test]
fn what_the_slice_before_leaves_behind() {
    let mut slices = twins(200);
    for index in 1..slices.len() {
        if slices[index - 1].target == "one" {
            costlier(&mut slices[index], 1.02);
        }
    }
    let found = compared(slices);
    let is = |alarm: &Alarm| match alarm {
        Alarm::CarryOver { figure, share, .. } => **figure == COST && (0.01..0.03).contains(&share.abs()),
        _ => false,
    };
    assert_eq!((alarms(&found, is), found.alarms.len()), (1, 1), "{:?}", found.alarms);
}

#[test]
fn a_ratio_that_depends_on_the_state_of_the_machine() {
    let two = Target { name: "two", ..BASE };
    let mut slices = Recipe { rounds: 80, ..Recipe::default() }.slices(&[BASE, one(1.0, 1.0, 1.0), two]);
    for slice in slices.iter_mut().filter(|slice| slice.round % 20 < 10) {
        // Slow spells cost all 30 %, and one of them 8 % more.
        costlier(slice, if slice.target == "one" { 1.3 * 1.08 } else { 1.3 });
    }
    let found = compared(slices);
    let is = |alarm: &Alarm| match alarm {
        Alarm::State { target, figure, fast, slow } => {
            **figure == COST && target == "one" && (slow / fast / 1.08 - 1.0).abs() < 0.02
        }
        _ => false,
    };
    assert_eq!(alarms(&found, is), 1, "{:?}", found.alarms);
}

#[test]
fn stalls_that_are_rarer_than_a_slice() {
    let mut slices = twins(60);
    for slice in slices.iter_mut().filter(|slice| slice.target == "one" && slice.round % 10 == 0) {
        slice.response = response(slice.completed, 100.0, slice.completed / 5);
    }
    // 2 % of the time: more than lies beyond the p99.
    slices.iter_mut().for_each(|slice| slice.lost_us = 2200.0);
    let found = compared(slices);
    let [Alarm::RareStalls { typical, merged, .. }] = &found.alarms[..] else { panic!("{:?}", found.alarms) };
    assert!((typical - 1.0).abs() < 0.05 && *merged > 10.0);
    assert!(found.targets[1].p99_merged.as_ref().unwrap().machines);
}
