//! Coverage of the 95 % intervals in simulation. A thousand experiments show the share to within two percent, but for one
//! case in some hundred.

use brunt_statistics::batch_means::{Batch, ranks, share};
use brunt_statistics::median_interval;
use brunt_statistics::ratio::ratio;
use brunt_testkit::chance::{Chance, share_of};

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
        // Exact coverage: 0.969, 0.984, 0.961, 0.979, 0.965, 0.957; 400 runs show it to within 0.03.
        (6, 0.02, 0.94, 0.99),
        (7, 0.02, 0.96, 1.0),
        (9, 0.5, 0.93, 0.99),
        (10, 0.02, 0.95, 1.0),
        (15, 0.5, 0.94, 0.99),
        (30, 0.02, 0.93, 0.99),
    ] {
        let held = share_of(400, || {
            let values = chance.repeats(count, 1000.0, spread);
            let interval = median_interval(&values, 0.95).unwrap();
            (interval.low..=interval.high).contains(&1000.0)
        });
        assert!((least..=most).contains(&held), "{count} repeats: {held}");
    }
}

/// Response times in request order: the ranks cover the quantile, also with autocorrelation.
#[test]
fn a_quantile_within_a_run() {
    let mut chance = Chance::new(3);
    // Standard normal quantiles; a monotonic transform to response times would not change ranks.
    let (p50, p90, p99) = (0.0, 1.281_552, 2.326_348);
    // With correlation over a quarter of a second, few seconds have a request beyond the p99.
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
        assert!((least..=0.995).contains(&held), "autocorrelation {like}, quantile {q}: {held}");
    }
}

#[test]
fn correlated_requests_reduce_the_effective_sample() {
    let mut chance = Chance::new(4);
    let mut effective = |like: f64| {
        let series = chance.series(20_000, like);
        let batch = |second: &[f64]| {
            let below = second.iter().filter(|value| **value <= 0.0).count() as u64;
            Batch { count: second.len() as u64, below }
        };
        share(&series.chunks(1000).map(batch).collect::<Vec<_>>()).unwrap().effective
    };
    // With an autocorrelation of 0.98 the effective sample is about a sixtieth.
    let (new, old) = (effective(0.0), effective(0.98));
    assert!(new > 8_000.0 && (100.0..1_500.0).contains(&old), "{new} {old}");
}
