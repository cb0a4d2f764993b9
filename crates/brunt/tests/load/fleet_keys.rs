//! Keys of agents, and what the NATS server lets their holders say and hear.

use super::fleet::stderr;
use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::{Target, json};
use brunt_testkit::{Running, assert_code, text, until};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// `brunt agent` with the key of this file, and further flags.
fn agent(fleet: &Fleet, file: &Path, flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["agent", "--fleet"]).arg(file).args(flags.split_whitespace());
    command.env("BRUNT_STATE_DIR", fleet.home().join("state")).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

fn ids(fleet: &Fleet) -> Vec<String> {
    fleet.agents().iter().map(|agent| agent["id"].as_str().unwrap().to_owned()).collect()
}

fn key(fleet: &Fleet, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["fleet", "key", "--dir"]).arg(fleet.home().path()).args(words.split_whitespace());
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_key_of_an_agent_cannot_speak_or_hear_as_another_agent() {
    if !is_here() {
        return;
    }
    let fleet = Fleet::up_with(0, "--agents web-1,web-2");
    let folder = fleet.home().join("agents");
    // The owner of web-1 says that its key is that of web-2: the program believes it, the server does not.
    let mut access: Value = serde_json::from_slice(&fs::read(folder.join("web-1.fleet")).unwrap()).unwrap();
    assert_eq!(access["agent"], "web-1");
    access["agent"] = Value::from("web-2");
    let forged = fleet.home().join("forged.fleet");
    fs::write(&forged, access.to_string()).unwrap();
    let mut forger = Running::start(&mut agent(&fleet, &forged, ""));
    forger.line_after("is ready");
    let log = || fs::read_to_string(fleet.home().join("nats.log")).unwrap();
    let refused = |what: &str, subject: &str| log().lines().any(|line| line.contains(what) && line.contains(subject));
    assert!(ids(&fleet).is_empty());
    for (what, subject) in [("Subscription Violation", "brunt.1.agent.order.web.2"), ("Publish Violation", ".web.2")] {
        until("the server has refused it", || {
            assert!(ids(&fleet).is_empty());
            refused(what, subject)
        });
    }
    // Both are there with their own keys, and take their names from them.
    let mut both = Vec::new();
    for name in ["web-1", "web-2"] {
        let mut own = Running::start(&mut agent(&fleet, &folder.join(format!("{name}.fleet")), ""));
        own.line_after(&format!("agent {name} is ready"));
        both.push(own);
    }
    assert_eq!(ids(&fleet), ["web-1", "web-2"]);
    let target = Target::start();
    let output =
        fleet.run(&format!("load {} --on web-1,web-2 -c 2 -n 10 --json - --quiet --allow-untrusted", target.url()));
    assert_code(&output, &[0]);
    assert_eq!(json(&output)["requests"]["completed"], 10);
    let by_another = agent(&fleet, &folder.join("web-1.fleet"), "--id web-2").output().unwrap();
    assert_code(&by_another, &[2]);
    assert!(stderr(&by_another).contains("the key is that of web-1"), "{}", text(&by_another));
}

#[test]
fn a_launch_shares_a_key_that_is_good_for_its_names_alone_and_a_key_is_taken_away() {
    if !is_here() {
        return;
    }
    let fleet = Fleet::up(0);
    let file = fleet.key("job-*");
    let mut agents = Vec::new();
    for number in 0..2 {
        let mut one = Running::start(&mut agent(&fleet, &file, &format!("--id job-{number}")));
        one.line_after("is ready");
        agents.push(one);
    }
    assert_eq!(ids(&fleet), ["job-0", "job-1"]);
    for (flags, needle) in [("--id web-1", "the key is that of job-*"), ("--id job-1-2", "job-*"), ("", "add --id")] {
        let output = agent(&fleet, &file, flags).output().unwrap();
        assert_code(&output, &[2]);
        assert!(stderr(&output).contains(needle) && stderr(&output).lines().count() == 1, "{}", text(&output));
    }
    assert_code(&key(&fleet, "--revoke job-*"), &[0]);
    for one in &mut agents {
        one.line_after("does not know this key");
        assert_eq!(one.end().code(), Some(1));
    }
    assert!(ids(&fleet).is_empty());
    let output = key(&fleet, "--revoke job-*");
    assert_code(&output, &[1]);
    assert!(stderr(&output).contains("job-* has no key"), "{}", text(&output));
    assert_code(&key(&fleet, "../x"), &[2]);
    // The key of an operator is none of an agent.
    let output = agent(&fleet, &fleet.home().join("operator.fleet"), "--id x").output().unwrap();
    assert_code(&output, &[2]);
    assert!(stderr(&output).contains("brunt fleet key"), "{}", text(&output));
}
