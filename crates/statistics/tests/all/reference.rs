//! The statistics against SciPy's results, which `tests/reference/generate.py` writes.

use brunt_results::drift::trend;
use brunt_statistics::outliers;
use brunt_statistics::ratio::{paired, ratio};
use brunt_statistics::{permutation, student};
use serde_json::Value;

fn cases(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("../reference/reference.json")).unwrap();
    let cases = all[name].as_array().unwrap_or_else(|| panic!("no cases of {name}")).clone();
    assert!(cases.len() > 3, "{name}");
    cases
}

fn number(case: &Value, name: &str) -> f64 {
    case[name].as_f64().unwrap_or_else(|| panic!("{name} in {case}"))
}

fn numbers(case: &Value, name: &str) -> Vec<f64> {
    case[name].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[track_caller]
fn assert_near(ours: f64, theirs: f64, relative: f64, case: &Value) {
    assert!((ours - theirs).abs() <= relative * theirs.abs() + 1e-300, "{ours} is not {theirs}: {case}");
}

#[test]
fn students_distribution() {
    for case in cases("student") {
        let (t, beyond) = (number(&case, "t"), student::two_sided(number(&case, "t"), number(&case, "df")) / 2.0);
        assert_near(if t > 0.0 { 1.0 - beyond } else { beyond }, number(&case, "cdf"), 1e-11, &case);
    }
    for case in cases("student_quantiles") {
        let ours = student::two_sided_quantile(number(&case, "confidence"), number(&case, "df"));
        assert_near(ours, number(&case, "t"), 1e-9, &case);
    }
}

#[test]
fn welchs_interval_of_a_ratio() {
    for case in cases("welch") {
        let effect = ratio(&numbers(&case, "a"), &numbers(&case, "b"), 0.95).unwrap();
        assert_near(effect.ratio, number(&case, "ratio"), 1e-12, &case);
        assert_near(effect.interval.low, number(&case, "low"), 1e-9, &case);
        assert_near(effect.interval.high, number(&case, "high"), 1e-9, &case);
        assert_near(effect.p, number(&case, "p"), 1e-9, &case);
    }
}

#[test]
fn the_permutation_test() {
    for case in cases("permutation") {
        let ours = permutation::p(&numbers(&case, "a"), &numbers(&case, "b"), 1).unwrap();
        assert_near(ours, number(&case, "p"), 1e-12, &case);
    }
}

#[test]
fn both_tests_in_pairs() {
    for case in cases("paired") {
        let (a, b) = (numbers(&case, "a"), numbers(&case, "b"));
        let effect = paired(&a, &b, 0.95).unwrap();
        assert_near(effect.interval.low, number(&case, "low"), 1e-9, &case);
        assert_near(effect.interval.high, number(&case, "high"), 1e-9, &case);
        assert_near(effect.p, number(&case, "p"), 1e-9, &case);
        assert_near(permutation::paired(&a, &b, 1).unwrap(), number(&case, "p_permutation"), 1e-12, &case);
    }
}

#[test]
fn the_trend_test_with_and_without_ties() {
    for case in cases("trend") {
        let ours = trend(&numbers(&case, "values")).unwrap();
        let (s, without) = (number(&case, "s"), number(&case, "z_without_continuity"));
        assert_eq!(ours.s, s, "{case}");
        assert_near(ours.slope, number(&case, "slope"), 1e-9, &case);
        let theirs = if s == 0.0 { 0.0 } else { without * (s.abs() - 1.0) / s.abs() };
        assert_near(ours.z_independent, theirs, 1e-9, &case);
    }
}

#[test]
fn outliers_by_the_median_distance() {
    let cases = cases("outliers");
    assert!(cases.iter().any(|case| !numbers(case, "outliers").is_empty()));
    for case in cases {
        let theirs: Vec<usize> = numbers(&case, "outliers").into_iter().map(|place| place as usize).collect();
        assert_eq!(outliers(&numbers(&case, "values")), theirs, "{case}");
    }
}
