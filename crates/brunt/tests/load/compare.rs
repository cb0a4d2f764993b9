//! `brunt load A B --compare`.

use crate::shared::target::{Target, load};
use brunt_testkit::{assert_code, text};
use std::fs;

#[test]
fn two_servers_are_compared_by_slices_and_the_slices_are_kept() {
    let (one, other) = (Target::start(), Target::start());
    let home = brunt_testkit::home();
    let flags = format!(
        "--compare -c 4 -d 1s --quiet --no-meter --json - --out {0} --html {0}/page.html",
        home.path().display()
    );
    let output = load(&one.url(), &format!("{} {flags}", other.url())).output().unwrap();
    // Whether a second tells the two apart is up to the machine; ratios are for simulated time (`crates/brunt/tests/sim/slices.rs`).
    assert_code(&output, &[0, 3]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["baseline"], &json["starts"]), (&one.url().into(), &1.into()), "{json}");
    let page = fs::read_to_string(home.path().join("page.html")).unwrap();
    assert!(page.contains("<code>brunt load tcp://") && page.contains(&format!("A is {}", one.url())), "{page}");
    let slices = fs::read_to_string(home.path().join("slices.jsonl")).unwrap();
    let of = |name: &str| slices.lines().filter(|line| line.contains(&format!("\"target\":\"{name}\""))).count();
    assert!(of(&one.url()) == of(&other.url()) && of(&one.url()) > 0, "{slices}");
}

/// Of each `load` against itself: under one URL, and under two paths.
#[test]
fn one_server_is_compared_with_itself() {
    let server = Target::start_web();
    for (one, other, second) in [
        (server.http("/"), server.http("/"), format!("{} (2)", server.http("/"))),
        (server.http("/v1"), server.http("/v2"), server.http("/v2")),
    ] {
        let output = load(&one, &format!("{other} --compare -c 2 -d 1s --quiet --json -")).output().unwrap();
        assert_code(&output, &[0, 3]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let targets = json["targets"].as_array().unwrap();
        let names: Vec<_> = targets.iter().map(|target| target["target"].as_str().unwrap()).collect();
        assert_eq!(names, [&one, &second], "{json}");
        for target in targets {
            let figure = |key: &str| target["figures"][key].as_f64().unwrap_or_else(|| panic!("no {key}: {json}"));
            assert!(["rate", "cost", "p50"].iter().all(|key| figure(key) > 0.0), "{json}");
        }
        let notes = json["notes"].to_string();
        assert!(notes.contains(&format!("one server: {one} and {second} are served by process")), "{notes}");
        let alarms = json["alarms"].to_string();
        assert!(!alarms.contains("idle-burn") && !alarms.contains("shared"), "{alarms}");
    }
}

#[test]
fn a_comparison_without_cost_says_why() {
    let (one, other) = (Target::start(), Target::start());
    let output =
        load(&one.url(), &format!("{} --compare -c 2 -d 200ms --quiet --no-meter", other.url())).output().unwrap();
    let said = text(&output);
    assert!(said.contains(&format!("note: no CPU a request of {}: --no-meter", one.url())), "{said}");
}

#[test]
fn flags_that_mean_nothing_in_a_comparison_are_refused() {
    for (line, said) in [
        ("--compare", "at least two URLs"),
        ("tcp://127.0.0.1:2 --compare -n 5", "-n and --compare"),
        ("tcp://127.0.0.1:2 --margin 3%", "--compare"),
        ("tcp://127.0.0.1:2 --compare --margin 0%", "from 0.1% to 50%"),
        ("tcp://127.0.0.1:2 --compare --slice 0ms", "--slice 0"),
    ] {
        let output = load("tcp://127.0.0.1:1", line).output().unwrap();
        assert_code(&output, &[2]);
        assert!(text(&output).contains(said), "{line}: {}", text(&output));
    }
}

#[test]
fn failures_are_the_end_of_a_comparison_and_named() {
    let server = Target::start_web();
    let (good, bad) = (server.http("/"), server.http("/status/500"));
    for order in [[&good, &bad], [&bad, &good]] {
        let output = load(order[0], &format!("{} --compare -c 2 -d 1s --quiet --no-meter", order[1])).output().unwrap();
        assert_code(&output, &[1]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            stderr.starts_with(&format!("error: {bad}: "))
                && stderr.contains(" status); a load of it alone says what to do"),
            "{stderr}"
        );
    }
}
