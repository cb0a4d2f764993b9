//! Offered rates that change, as typed.

use super::target::{Target, alone, assert_code, json, load, number, told};
use serde_json::Value;

/// The steps of a run with these flags on an echo server.
fn steps(flags: &str) -> (Value, Vec<Value>) {
    let _alone = alone();
    let target = Target::start();
    let flags = format!("{flags} -c 8 --warmup 200ms --no-meter --allow-untrusted --quiet --json -");
    let output = load(&target.url(), &flags).output().unwrap();
    assert_code(&output, &[0]);
    let result = json(&output);
    let steps = result["steps"].as_array().cloned().unwrap_or_default();
    (result, steps)
}

fn all(steps: &[Value], key: &str) -> Vec<f64> {
    steps.iter().map(|step| step[key].as_f64().unwrap()).collect()
}

#[test]
fn a_ramp_offers_its_rates_one_after_the_other() {
    let (result, steps) = steps("-R 100:1900 -d 2s");
    assert_eq!(
        all(&steps, "offered_rate"),
        [190.0, 370.0, 550.0, 730.0, 910.0, 1090.0, 1270.0, 1450.0, 1630.0, 1810.0]
    );
    let completed = all(&steps, "completed");
    // Each request belongs to one step, by its intended time; those that the end left unanswered are in none.
    for (offered, completed) in all(&steps, "offered_rate").iter().zip(&completed) {
        assert!((completed - offered * 0.2).abs() <= 3.0, "{offered}: {completed}");
    }
    assert_eq!(number(&result, "requests.offered_rate"), 1000.0);
    assert!((completed.iter().sum::<f64>() - number(&result, "requests.completed")).abs() <= 3.0, "{result:#}");
    assert!(steps.iter().all(|step| step["response"]["p50_us"].as_f64() > Some(0.0)), "{steps:#?}");
}

#[test]
fn stages_follow_each_other_and_poisson_arrivals_do_too() {
    for arrival in ["constant", "poisson"] {
        let (result, steps) = steps(&format!("--stages 200@500ms,1k@1s,1k:3k@500ms --arrival {arrival} --seed 1"));
        assert_eq!(steps.len(), 12);
        assert_eq!((all(&steps, "start_s")[1], all(&steps, "end_s")[1]), (0.5, 1.5));
        assert!((all(&steps, "completed")[1] / 1000.0 - 1.0).abs() < 0.15, "{steps:#?}");
        assert_eq!((number(&result, "load.measured_s") * 10.0).round(), 20.0);
    }
}

#[test]
fn the_page_has_a_line_for_each_step_and_conflicts_are_refused() {
    let _alone = alone();
    let target = Target::start();
    let output = load(&target.url(), "--stages 200@300ms,400@300ms --no-meter --allow-untrusted").output().unwrap();
    assert_code(&output, &[0]);
    assert!(told(&output).contains("offered/s"), "{}", told(&output));
    for (flags, says) in [
        ("--stages 1k@1s -R 1k", "--stages and -R"),
        ("--stages 1k@1s -d 1s", "--stages and -d"),
        ("-R 1k:2k --steady", "--steady"),
        ("-R 1k:2k -n 100", "-n"),
        ("--stages 1k", "5k@1m"),
        ("-R 1k:", "''"),
        ("-R 1k:20M", "at most"),
    ] {
        let output = load(&target.url(), flags).output().unwrap();
        assert_code(&output, &[2]);
        assert!(told(&output).contains(says), "{flags}: {}", told(&output));
    }
}
