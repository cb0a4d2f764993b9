//! Ceilings of the generator, which are measured before a load and kept.

use crate::shared::target::{Target, json, load, number};
use brunt_testkit::assert_code;
use serde_json::Value;
use std::fs;

#[test]
fn a_ceiling_over_http_holds_for_the_same_requests_and_replies_alone() {
    let target = Target::start_web();
    let home = brunt_testkit::home();
    let run = |path: &str, flags: &str| {
        let flags = format!("-c 4 -n 200 --warmup 50ms --json - --quiet --allow-untrusted {flags}");
        let output = load(&target.http(path), &flags).env("BRUNT_STATE_DIR", home.path()).output().unwrap();
        assert_code(&output, &[0]);
        json(&output)["generator"]["ceiling_rate"].as_f64()
    };
    assert_eq!(run("/hello", ""), None);
    let ceiling = run("/hello", "--calibrate");
    assert!(ceiling.is_some_and(|rate| rate > 0.0), "{ceiling:?}");
    assert_eq!(run("/hello", ""), ceiling);
    for (path, flags) in [("/a/longer/reply", ""), ("/hello", "--pipeline 2"), ("/hello", "--no-keepalive")] {
        assert_eq!(run(path, flags), None, "{path} {flags}");
    }
    let each = run("/hello", "--no-keepalive --calibrate");
    assert!(each.is_some() && run("/hello", "--no-keepalive") == each && run("/hello", "") == ceiling);
}

#[test]
fn a_calibration_is_measured_once_and_used_by_later_runs_of_the_same_load() {
    let target = Target::start();
    let home = brunt_testkit::home();
    let run = |flags: &str| {
        let flags = format!("-n 200 --warmup 50ms --json - --quiet --allow-untrusted {flags}");
        let output = load(&target.url(), &flags).env("BRUNT_STATE_DIR", home.path()).output().unwrap();
        assert_code(&output, &[0]);
        json(&output)
    };
    assert_eq!(run("-c 4")["generator"]["ceiling_rate"], Value::Null);
    let ceiling = number(&run("-c 4 --calibrate"), "generator.ceiling_rate");
    assert!(ceiling > 0.0 && home.path().join("ceiling.json").exists());
    assert_eq!(number(&run("-c 4"), "generator.ceiling_rate"), ceiling);
    assert_eq!(run("-c 5")["generator"]["ceiling_rate"], Value::Null);
    // A malformed file does not prevent a measurement.
    fs::write(home.path().join("ceiling.json"), "nonsense").unwrap();
    assert_eq!(run("-c 4")["generator"]["ceiling_rate"], Value::Null);
}
