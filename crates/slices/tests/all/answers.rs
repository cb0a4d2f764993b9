//! Verdicts and the sentence.

use crate::machine::ratio;
use crate::recipe::{BASE, Recipe, SETTINGS, Target, compared, compared_with, one};
use brunt_results::LatencySummary;
use brunt_results::comparison::Verdict;
use brunt_results::figure::{COST, Figure, MEAN, P50, P90, P99, RATE};
use brunt_slices::{Progress, Settings, Slice, SlicedLoad, compare, sentence};
use proptest::prelude::*;

fn verdict(slices: Vec<Slice>, figure: &Figure) -> Verdict {
    ratio(&compared(slices), "one", figure).verdict.clone()
}

#[test]
fn all_figures_of_two_targets() {
    let found = compared(Recipe { starts: 2, ..Recipe::default() }.slices(&[BASE, one(1.2, 0.83, 1.1)]));
    assert_eq!((found.rounds, found.void, found.starts), (80, 0, 2));
    assert!((found.seconds - 17.6).abs() < 1e-9 && found.alarms.is_empty(), "{:?}", found.alarms);
    for (figure, truth) in [(&RATE, 1.2), (&COST, 0.83), (&P50, 1.1), (&P99, 1.1), (&MEAN, 1.1)] {
        let ratio = ratio(&found, "one", figure);
        assert!((ratio.ratio / truth - 1.0).abs() < 0.01 && ratio.high / ratio.low < 1.06, "{ratio:?}");
        assert_eq!((&ratio.verdict, ratio.samples), (&Verdict::Different, 80));
        assert!(ratio.p <= ratio.p_adjusted && ratio.p_adjusted < 0.01, "{ratio:?}");
    }
    let [base, one] = &found.targets[..] else { panic!("two targets") };
    assert!(base.ratios.is_empty() && base.p99_merged.as_ref().unwrap().ratio.is_none());
    let merged = one.p999_merged.as_ref().unwrap();
    let [middle, low, high] = merged.ratio.unwrap();
    assert!(low <= middle && middle <= high && (middle / 1.1 - 1.0).abs() < 0.03 && !merged.machines, "{merged:?}");
    let said = sentence(&found);
    assert!(
        said.starts_with("one serves 1.20") && said.contains("x base [1.") && said.contains("x its CPU a request [0.8"),
        "{said}"
    );
}

#[test]
fn inside_the_margin_is_no_difference_although_it_is_certain() {
    let found = compared(Recipe { rounds: 100, ..Recipe::default() }.slices(&[BASE, one(1.007, 1.0, 1.0)]));
    let rate = ratio(&found, "one", &RATE);
    assert!(rate.low > 1.0 && rate.p < 0.05 && rate.verdict == Verdict::NoDifference, "{rate:?}");
    let said = sentence(&found);
    assert!(said.starts_with("one against base: rate no difference within 3 % (x1.0"), "{said}");
}

#[test]
fn failed_requests_come_first() {
    let mut slices = Recipe::default().slices(&[BASE, one(1.2, 0.83, 1.0)]);
    let at = slices.iter().position(|slice| slice.target == "one").unwrap();
    slices[at].failed = 3;
    // Also in a round that does not count.
    slices[at].lost_us = 1e6;
    let found = compared(slices.clone());
    assert!(found.targets[1].ratios.iter().all(|ratio| ratio.verdict == Verdict::Errors));
    assert_eq!((sentence(&found).as_str(), found.targets[1].failed, found.void), ("one: 3 failures", 3, 1));
    slices[at].failed = 0;
    let base = slices.iter_mut().find(|slice| slice.target == "base").unwrap();
    base.failed = 1;
    assert_eq!(sentence(&compared(slices.clone())), "one: 1 failure of base");
    // Connections that were not opened are no requests.
    let base = slices.iter_mut().find(|slice| slice.target == "base").unwrap();
    (base.errors.status, base.errors.connect) = (1, 2);
    assert_eq!(sentence(&compared(slices)), "one: 3 failures (2 connect, 1 status) of base");
}

#[test]
fn only_a_full_generator_in_the_faster_ones_slices_limits_the_rate() {
    let with = |full: &str| {
        let mut slices = Recipe::default().slices(&[BASE, one(1.2, 0.83, 1.0)]);
        slices.iter_mut().filter(|slice| slice.target == full).for_each(|slice| slice.generator_percent = 98.0);
        slices
    };
    assert_eq!(verdict(with("one"), &RATE), Verdict::ClientLimited);
    assert_eq!(verdict(with("one"), &COST), Verdict::Different);
    assert_eq!(verdict(with("base"), &RATE), Verdict::Different);
    assert!(sentence(&compared(with("one"))).contains("rate client-limited"));
    // A target that fills its own cores is driven to its limit.
    let driven = |server_cores: usize| {
        let mut slices = with("one");
        slices.iter_mut().for_each(|slice| slice.server_cpu_us = Some(slice.busy_us as f64 * 0.97));
        let names = ["base", "one"].map(str::to_owned);
        let load = SlicedLoad { server_cores, slices, ..SlicedLoad::default() };
        compare(&[load], &names, "base", SETTINGS)[0].targets[1].ratio(&RATE).unwrap().verdict.clone()
    };
    assert_eq!([0, 1, 2].map(driven), [Verdict::ClientLimited, Verdict::Different, Verdict::ClientLimited]);
}

#[test]
fn what_more_rounds_would_do() {
    let slices = Recipe { rounds: 20, noise: 0.06, ..Recipe::default() }.slices(&[BASE, one(1.0, 1.0, 1.0)]);
    let cost = |precision| {
        let settings = Settings { margin: 0.03, precision };
        ratio(&compared_with(slices.clone(), false, settings), "one", &COST).clone()
    };
    // Differences spread by 8.5 %: (2.14 * 8.5 / 1.5)^2.
    let Verdict::Imprecise { needed: Some(rounds) } = cost(0.015).verdict else { panic!("{:?}", cost(0.015)) };
    assert!((60..300).contains(&rounds), "{rounds}");
    let Verdict::CannotTell { needed: Some(rounds) } = cost(0.2).verdict else { panic!("{:?}", cost(0.2)) };
    assert!((24..300).contains(&rounds), "{rounds}");
    let said = sentence(&compared_with(slices, false, Settings { margin: 0.03, precision: 0.2 }));
    assert!(said.contains("cannot tell (x") && said.contains(" rounds would"), "{said}");
}

#[test]
fn offered_rates_are_compared_only_where_one_is_missed() {
    let found = compared_with(Recipe::default().slices(&[BASE, one(1.0, 0.8, 1.2)]), true, SETTINGS);
    assert!(found.targets[1].ratio(&RATE).is_none());
    let said = sentence(&found);
    assert!(said.starts_with("one against base: CPU a request x0.") && said.contains(", p50 x1.2"), "{said}");
    let missed = compared_with(Recipe::default().slices(&[BASE, one(0.9, 1.0, 1.0)]), true, SETTINGS);
    assert_eq!(ratio(&missed, "one", &RATE).verdict, Verdict::Different);
}

#[test]
fn a_p99_takes_a_thousand_replies() {
    let few = |target: Target| Target { replies: target.replies * 0.15, ..target };
    let found = compared(Recipe::default().slices(&[few(BASE), few(one(1.0, 1.0, 1.3))]));
    // Four rounds of 300 replies a group.
    let p99 = ratio(&found, "one", &P99);
    assert!(p99.samples == 10 && (p99.ratio / 1.3 - 1.0).abs() < 0.05, "{p99:?}");
    assert_eq!(ratio(&found, "one", &P90).samples, 40);
}

#[test]
fn figures_of_a_tester_without_distribution_are_compared_round_by_round() {
    let told = |targets: &[Target]| -> Vec<Slice> {
        let mut slices = Recipe::default().slices(targets);
        for slice in &mut slices {
            slice.latency = LatencySummary::of(&slice.response().unwrap());
            slice.response.clear();
        }
        slices
    };
    let found = compared(told(&[BASE, one(1.2, 0.83, 1.1)]));
    for (figure, truth) in [(&RATE, 1.2), (&P50, 1.1), (&P99, 1.1), (&MEAN, 1.1)] {
        let ratio = ratio(&found, "one", figure);
        assert!((ratio.ratio / truth - 1.0).abs() < 0.01 && ratio.samples == 40, "{ratio:?}");
    }
    assert!(found.targets.iter().all(|target| target.p99_merged.is_none()), "quantiles of slices cannot be merged");
    // Too few replies for a p99 in every slice, and those of several cannot be joined.
    let few = |target: Target| Target { replies: target.replies * 0.15, ..target };
    let found = compared(told(&[few(BASE), few(one(1.0, 1.0, 1.3))]));
    assert!(found.targets[1].ratio(&P99).is_none() && found.targets[1].ratio(&P50).is_some());
}

#[test]
fn running_intervals_need_no_histograms_and_judge_width_only() {
    let mut slices = Recipe { rounds: 23, ..Recipe::default() }.slices(&[BASE, one(1.2, 0.83, 1.0)]);
    slices.iter_mut().for_each(|slice| slice.response.clear());
    let at = |rounds: usize, precision: f64| Progress::of(&slices[..2 * rounds], "base", precision, false);
    assert!(at(20, 0.02).precise && !at(20, 0.001).precise);
    assert!(!at(19, 0.02).precise);
    let found = at(20, 0.001);
    let rate = found.targets[0].rate.unwrap();
    assert!(rate.low < 1.2 && 1.2 < rate.high && rate.half < 0.01 && found.needed.unwrap() > 100, "{found:?}");
    assert!(Progress::of(&slices, "base", 0.02, true).targets[0].rate.is_none());
    assert!(!Progress::of(&[], "base", 0.02, false).precise);
    assert!(!Progress::of(&slices, "other", 0.02, false).precise);
}

#[test]
fn little_or_nothing_is_no_comparison() {
    assert!(compare(&[], &[], "base", SETTINGS).is_empty());
    let empty = compared(Vec::new());
    assert_eq!((empty.rounds, empty.targets.len(), sentence(&empty).as_str()), (0, 0, ""));
    let few = compared(Recipe { rounds: 5, ..Recipe::default() }.slices(&[BASE, one(1.0, 1.0, 1.0)]));
    assert_eq!(sentence(&few), "one against base: too few rounds (5), a longer time has more");
    let alone = compared(Recipe::default().slices(&[one(1.0, 1.0, 1.0)]));
    assert!(alone.targets[0].ratios.is_empty());
    let load = SlicedLoad { slices: vec![Slice::default(); 9], ..SlicedLoad::default() };
    assert_eq!(compare(&[load], &["base".into(), String::new()], "base", SETTINGS)[0].targets.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn roles_swapped_invert_ratios_and_a_change_of_the_machines_speed_cancels(
        values in proptest::collection::vec((500u64..5000, 500u64..5000, 1e3f64..1e5, 1e3f64..1e5, 0.5f64..2.0, 1u32..4), 6..40),
    ) {
        let slices = |speed: fn(f64) -> f64| {
            let mut values = values.clone();
            values.sort_by_key(|value| value.5);
            let of = |(round, v): (usize, &(u64, u64, f64, f64, f64, u32))| {
                let slice = |target: &str, completed: u64, cpu: f64| Slice {
                    target: target.into(), start: v.5, round: round as u32, window_us: 100_000, busy_us: 100_000,
                    completed, replies: 1000, server_cpu_us: Some(cpu * speed(v.4)), ..Slice::default()
                };
                [slice("base", v.0, v.2), slice("one", v.1, v.3)]
            };
            SlicedLoad { slices: values.iter().enumerate().flat_map(of).collect(), ..SlicedLoad::default() }
        };
        let names = ["base".to_string(), "one".to_string()];
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
        let of = |load: SlicedLoad, base: &str| compare(&[load], &names, base, SETTINGS).remove(0);
        let here = of(slices(|_| 1.0), "base");
        let there = of(slices(|speed| speed), "one");
        for figure in [&COST, &RATE] {
            let (a, b) = (ratio(&here, "one", figure), ratio(&there, "base", figure));
            prop_assert!(near(a.ratio * b.ratio, 1.0) && near(a.low * b.high, 1.0) && near(a.high * b.low, 1.0), "{a:?} {b:?}");
            prop_assert!(a.low <= a.ratio && a.ratio <= a.high && near(a.p, b.p));
        }
    }
}
