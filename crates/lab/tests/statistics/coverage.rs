//! An interval of 95 % must hold the truth in 95 of 100 experiments. A thousand of them show a share that is off by two
//! percent at most, but for one in some hundred.

use crate::chance::{Chance, share_of};
use brunt_lab::stats::{
    batch_means::{Batch, ranks, share},
    bootstrap, median,
    ratio::ratio,
};

#[test]
fn the_ratio_of_two_sets_of_repeats() {
    let mut chance = Chance::new(1);
    for (a, b, spread_a, spread_b) in [(3, 3, 0.02, 0.02), (5, 5, 0.02, 0.1), (16, 16, 0.02, 0.02), (4, 20, 0.3, 0.05)]
    {
        let held = share_of(2000, || {
            let (a, b) = (chance.repeats(a, 1000.0, spread_a), chance.repeats(b, 950.0, spread_b));
            let interval = ratio(&a, &b, 0.95).unwrap().interval;
            (interval.low..=interval.high).contains(&0.95)
        });
        assert!((0.93..=0.985).contains(&held), "{a} and {b} repeats: {held}");
    }
}

#[test]
fn the_median_over_repeats() {
    let mut chance = Chance::new(2);
    for (count, spread, least, most) in [
        (6, 0.02, 0.94, 0.99),
        (7, 0.02, 0.96, 1.0),
        (9, 0.5, 0.93, 0.99),
        (10, 0.02, 0.92, 0.99),
        (15, 0.5, 0.89, 0.97),
    ] {
        let held = share_of(400, || {
            let values = chance.repeats(count, 1000.0, spread);
            let interval = bootstrap::interval(&values, median, 0.95, 1).unwrap();
            (interval.low..=interval.high).contains(&1000.0)
        });
        assert!((least..=most).contains(&held), "{count} repeats: {held}");
    }
}

/// Response times in the order of the requests: the quantile lies where the ranks say, also where neighbours are alike.
#[test]
fn a_quantile_within_a_run() {
    let mut chance = Chance::new(3);
    // Standard normal quantiles; a response time is a growing function of the series, which moves no rank.
    let (p50, p90, p99) = (0.0, 1.281_552, 2.326_348);
    // Where a series stays high for a quarter of a second, few seconds have a request beyond the p99, and some tell nothing.
    for (like, q, truth, least) in [
        (0.0, 0.99, p99, 0.92),
        (0.99, 0.5, p50, 0.92),
        (0.9, 0.9, p90, 0.92),
        (0.9, 0.99, p99, 0.9),
        (0.99, 0.99, p99, 0.86),
    ] {
        let (seconds, a_second) = (15, 800);
        let held = share_of(400, || {
            let series = chance.series(seconds * a_second, like);
            let mut sorted = series.clone();
            sorted.sort_by(f64::total_cmp);
            let at = |share: f64| sorted[((share * sorted.len() as f64) as usize).min(sorted.len() - 1)];
            let quantile = at(q);
            let below = |second: &[f64]| second.iter().filter(|value| **value <= quantile).count() as u64;
            let batch = |second: &[f64]| Batch { count: second.len() as u64, below: below(second) };
            let batches: Vec<Batch> = series.chunks(a_second).map(batch).collect();
            let ranks = ranks(q, &share(&batches).unwrap(), 0.95);
            (at(ranks.low)..=at(ranks.high)).contains(&truth)
        });
        assert!((least..=0.995).contains(&held), "neighbours alike by {like}, quantile {q}: {held}");
    }
}

#[test]
fn requests_that_are_alike_count_for_fewer() {
    let mut chance = Chance::new(4);
    let mut effective = |like: f64| {
        let series = chance.series(20_000, like);
        let batch = |second: &[f64]| {
            let below = second.iter().filter(|value| **value <= 0.0).count() as u64;
            Batch { count: second.len() as u64, below }
        };
        share(&series.chunks(1000).map(batch).collect::<Vec<_>>()).unwrap().effective
    };
    // With neighbours alike by 0.98 a request in some sixty is new.
    let (new, old) = (effective(0.0), effective(0.98));
    assert!(new > 8_000.0 && (100.0..1_500.0).contains(&old), "{new} {old}");
}
