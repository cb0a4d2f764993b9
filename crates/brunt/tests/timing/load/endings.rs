//! How a run ends whose target is killed.

use crate::shared::target::{PATIENCE, Run, Target, json, load, number, pass};
use brunt_testkit::{Signal, alone, assert_code, text};
use std::time::Duration;

#[test]
fn a_target_killed_in_the_middle_is_errors_and_the_run_ends_on_time() {
    let _alone = alone();
    let mut target = Target::start();
    let run = Run::start(load(&target.url(), "-R 500 -d 4s --warmup 0s -c 8 --json - --quiet --allow-untrusted"));
    target.until_asked();
    pass(Duration::from_millis(1200), "some part of the window");
    target.signal(Signal::KILL);
    let began = run.began;
    let output = run.end();
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert_code(&output, &[1]);
    let result = json(&output);
    assert_eq!(result["verdict"]["kind"], "errors", "{}", text(&output));
    let why: Vec<&str> = result["verdict"]["why"].as_array().unwrap().iter().filter_map(|why| why.as_str()).collect();
    let after =
        why[0].strip_prefix(&format!("server pid {} exited after ", target.pid())).unwrap_or_else(|| panic!("{why:?}"));
    let after: f64 = after.strip_suffix(" s").unwrap().parse().unwrap();
    assert!((1.1..4.0).contains(&after), "{after}");
    assert!(why[1].contains(" unanswered)") && why.iter().all(|why| !why.contains("offered")), "{why:?}");
    let lost = number(&result, "errors.reset") + number(&result, "errors.connect");
    assert!(lost >= 8.0, "each connection was lost: {}", text(&output));
    assert!(number(&result, "requests.completed") > 0.0, "{}", text(&output));
    // A server that has exited has no cost.
    assert_eq!(result["server"]["cpu_us_per_request"], serde_json::Value::Null);
}

#[test]
fn requests_that_a_killed_target_leaves_unanswered_cross_a_bound_on_errors() {
    let _alone = alone();
    let mut target = Target::start();
    let flags = "-R 500 -d 3s --warmup 0s -c 8 --json - --quiet --allow-untrusted --fail-if errors>20%";
    let run = Run::start(load(&target.url(), flags));
    target.until_asked();
    pass(Duration::from_millis(700), "some part of the window");
    target.signal(Signal::KILL);
    let output = run.end();
    assert_code(&output, &[99]);
    let result = json(&output);
    // Those with an error alone would not.
    let (failed, abandoned) = (number(&result, "requests.failed"), number(&result, "requests.abandoned"));
    assert!(failed < abandoned && failed / 1500.0 < 0.2, "{}", text(&output));
}
