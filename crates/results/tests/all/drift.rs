//! The verdict `not-stationary` on simulated series: false alarms and power.

use brunt_results::drift::{check, trend, warmup};
use brunt_results::series::Second;
use brunt_testkit::chance::{Chance, share_of};

fn seconds(rates: impl IntoIterator<Item = f64>) -> Vec<Second> {
    let second = |(number, rate): (usize, f64)| Second {
        at_s: number as f64 + 1.0,
        completed: rate as u64,
        p50_us: Some(8e7 / rate),
        ..Second::default()
    };
    rates.into_iter().enumerate().map(second).collect()
}

#[test]
fn steady_series_rarely_raise_false_alarms() {
    let mut chance = Chance::new(11);
    // Strongly correlated series occasionally drift within half a minute.
    for (length, like, spread, most) in
        [(10, 0.0, 0.05, 0.01), (10, 0.5, 0.05, 0.03), (30, 0.6, 0.1, 0.06), (60, 0.0, 0.2, 0.01)]
    {
        let called = share_of(1000, || {
            let series = chance.series(length, like);
            check(&seconds(series.iter().map(|x| 100_000.0 * (spread * x).exp()))).is_some()
        });
        assert!(called <= most, "{length} s, alike by {like}, {spread}: {called}");
    }
}

#[test]
fn drifting_servers_are_found() {
    let mut chance = Chance::new(12);
    for (length, drift) in [(10, -0.3), (30, 0.2), (120, -0.15)] {
        let found = share_of(300, || {
            let rates = (0..length).map(|i| 1.0 + drift * f64::from(i) / f64::from(length - 1));
            let rates: Vec<f64> = rates.map(|share| 100_000.0 * share * (0.03 * chance.normal()).exp()).collect();
            check(&seconds(rates)).is_some()
        });
        assert!(found >= 0.95, "{length} s, {drift}: {found}");
    }
}

#[test]
fn autocorrelation_is_not_a_trend() {
    let mut chance = Chance::new(13);
    let (mut naive, mut ours) = (0, 0);
    for _ in 0..1000 {
        let found = trend(&chance.series(60, 0.7)).unwrap();
        naive += u32::from(found.z_independent.abs() > 1.96);
        ours += u32::from(found.z.abs() > 1.96);
    }
    assert!(naive > 200 && ours < 120, "{naive} {ours}");
}

#[test]
fn a_warm_up_is_cut_where_it_ends() {
    let mut chance = Chance::new(14);
    let right = share_of(300, || {
        let rate = |second: i32| 1000.0 * (1.0 - 0.5 * f64::from((6 - second).max(0)) / 6.0);
        let values: Vec<f64> = (0..40).map(|second| rate(second) + 10.0 * chance.normal()).collect();
        matches!(warmup(&values), Some(5..=12))
    });
    assert!(right > 0.9, "{right}");
}
