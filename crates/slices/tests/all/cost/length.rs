//! How long slices have to be.

use super::*;
use brunt_slices::cost::length::{self, LEAST_PAIRS, MOST_PAIRS, Next, judge, most, ratios};

#[test]
fn a_length_is_enough_if_twice_of_it_changes_little() {
    let of = |ratios: &[f64]| vec![("one".to_owned(), ratios.to_vec())];
    let next = |ratios: &[f64]| judge(length::FIRST, &of(ratios));
    // It is not metered.
    assert_eq!((next(&[]), most(&of(&[]))), (Next::Enough, None));
    let small = [0.001, -0.001, 0.002, 0.0];
    assert_eq!((next(&small[..3]), next(&small)), (Next::More, Next::Enough));
    let change = most(&of(&small)).unwrap();
    assert!(change.is_small() && change.pairs == LEAST_PAIRS && change.target == "one", "{change:?}");
    let large = [-0.05, -0.04, -0.06, -0.05];
    assert_eq!(next(&large), Next::Longer);
    assert!(!most(&of(&large)).unwrap().is_small());
    // Not long slices for ever.
    assert_eq!(judge(length::LONGEST, &of(&large)), Next::More);
    assert_eq!(judge(length::LONGEST, &of(&[-0.05; MOST_PAIRS])), Next::Enough);
    // Noise that hides a change of a hundredth is waited out for some pairs.
    let noisy = [0.05, -0.06, 0.03, -0.04].repeat(3);
    assert_eq!((next(&noisy[..LEAST_PAIRS]), next(&noisy[..MOST_PAIRS])), (Next::More, Next::Enough));
    assert!(!most(&of(&noisy)).unwrap().is_small());
    // The worst of several.
    let several = [("one", vec![0.001; 4]), ("other", vec![0.004, 0.005, 0.004, 0.005])];
    let several = several.map(|(name, ratios)| (name.to_owned(), ratios));
    assert_eq!(judge(length::FIRST, &several), Next::Enough);
    assert_eq!(most(&several).unwrap().target, "other");
}

/// Slices of `targets` are made longer by chance alone in fewer than 5 of 100 measurements, however many targets there are.
#[test]
fn noise_does_not_make_slices_longer() {
    let mut chance = Chance::new(1);
    for targets in [1, 6] {
        let mut longer = 0;
        for _ in 0..400 {
            let mut all: Vec<length::Ratios> =
                (0..targets).map(|target| (format!("target {target}"), Vec::new())).collect();
            let ends = (0..MOST_PAIRS).map(|_| {
                all.iter_mut().for_each(|(_, ratios)| ratios.push(0.05 * chance.normal()));
                judge(length::FIRST, &all)
            });
            longer += u32::from(ends.into_iter().find(|next| *next != Next::More) == Some(Next::Longer));
        }
        assert!(longer < 20, "{longer} of 400 with {targets} targets");
    }
}

#[test]
fn second_slices_show_what_twice_the_length_changes_and_are_in_no_point() {
    let server = Server::new("one", 60e3, 12.0);
    let all = slices(&[server], 8, QUIET, 1);
    let with_second = |slice: &CostSlice| {
        let mut second = CostSlice { second: true, ..slice.clone() };
        second.slice.server_cpu_us = second.slice.server_cpu_us.map(|us| us * 0.9);
        [slice.clone(), second]
    };
    let paired: Vec<CostSlice> = all.iter().flat_map(with_second).collect();
    let (target, found) = ratios(&paired, "one");
    assert_eq!((target.as_str(), found.len()), ("one", all.len()));
    assert!(found.iter().all(|ratio| (ratio - 0.95_f64.ln()).abs() < 1e-9), "{found:?}");
    assert!(ratios(&all, "one").1.is_empty());
    assert!(ratios(&paired, "other").1.is_empty());
    let settings = settings(&[server]);
    assert_eq!(analyse(&paired, &settings), analyse(&all, &settings));
}
