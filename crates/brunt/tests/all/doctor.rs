//! `brunt doctor` as typed.

use std::process::{Command, Output};

fn doctor(args: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.arg("doctor").args(args).envs(environment.iter().copied()).output().unwrap()
}

fn findings(output: &Output) -> Vec<(String, String)> {
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
    findings.as_array().unwrap().iter().map(|f| (text(f, "subject"), text(f, "state"))).collect()
}

#[test]
fn text_and_json_agree_and_the_exit_code_tells_of_bad_findings() {
    let output = doctor(&["--json"], &[]);
    let findings = findings(&output);
    let bad = findings.iter().any(|(_, state)| state == "bad");
    assert_eq!(output.status.code(), Some(if bad { 3 } else { 0 }), "{findings:?}");
    let text = String::from_utf8(doctor(&[], &[]).stdout).unwrap();
    assert!(findings.iter().all(|(subject, _)| text.contains(subject)), "{text}");
}

#[test]
fn a_billion_connections_exceed_every_limit_with_their_needs() {
    let output = doctor(&["--for", "1G", "--json"], &[]);
    assert_eq!(output.status.code(), Some(3));
    let findings = findings(&output);
    for subject in ["local ports", "memory", "TCP memory"] {
        assert!(findings.iter().any(|(s, state)| s == subject && state != "good"), "{subject}: {findings:?}");
    }
}

#[test]
fn features_of_the_ring_are_listed_and_can_be_left_out() {
    let state = |environment: &[(&str, &str)], subject: &str| {
        let findings = findings(&doctor(&["--json"], environment));
        findings.into_iter().find(|(s, _)| s == subject).map(|(_, state)| state)
    };
    // Where io_uring is forbidden, a single finding says so and no features are listed.
    let Some(before) = state(&[], "io_uring registered-ring") else { return };
    assert_eq!(state(&[("BRUNT_RING", "registered-ring")], "io_uring registered-ring").as_deref(), Some("warn"));
    assert_eq!(state(&[("BRUNT_RING", "no-iowait")], "io_uring registered-ring"), Some(before));
    assert_eq!(state(&[("BRUNT_BACKEND", "epoll")], "io_uring").as_deref(), Some("warn"));
}

#[test]
fn a_ceiling_that_was_never_measured_is_unknown() {
    let home = brunt_testkit::home();
    let place = home.path().to_str().unwrap();
    let output = doctor(&["--json"], &[("BRUNT_STATE_DIR", place)]);
    assert!(findings(&output).contains(&("generator's ceiling".to_owned(), "unknown".to_owned())));
}

#[test]
fn an_invalid_number_is_a_usage_error() {
    let output = doctor(&["--for", "many"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("many"));
}
