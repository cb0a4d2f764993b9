//! Commands around loads of agents: collecting, checking, and fleets that are started and end.

use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::{Target, json};
use brunt_testkit::{Running, Signal, assert_code, signal, text, until};
use serde_json::Value;
use std::fs;

#[test]
fn a_load_whose_coordinator_was_killed_is_collected_from_its_agents() {
    if !is_here() {
        return;
    }
    let (fleet, mut target) = (Fleet::up(2), Target::start());
    let words = format!("load {} --on 2 -c 4 -R 400 -d 600 --warmup 0s --quiet", target.url());
    let load = Running::start(&mut fleet.command(&words));
    target.until_answered();
    let agents = fleet.agents();
    let run = agents[0]["busy"]["run"].as_str().expect("a run").to_owned();
    let ps = fleet.run("fleet ps");
    let page = String::from_utf8_lossy(&ps.stdout).into_owned();
    assert!(page.contains(&run) && page.contains("local-1 running, local-2 running"), "{page}");
    until("both have kept a second", || {
        let of =
            |id: &str| fs::read_dir(fleet.home().join("state/fleet/journals").join(id)).into_iter().flatten().flatten();
        let has_second = |id: &&str| of(id).any(|journal| journal.path().join("0").exists());
        ["local-1", "local-2"].iter().all(has_second)
    });
    load.signal(Signal::KILL);
    until("the load is over", || fleet.agents().iter().all(|agent| agent["busy"].is_null()));
    let output = fleet.run(&format!("fleet collect {run} --json -"));
    assert_code(&output, &[0, 3]);
    let result = json(&output);
    let (measured, due) = (result["load"]["measured_s"].as_f64().unwrap(), result["requests"]["due"].as_u64().unwrap());
    assert!(result["interrupted"] == true && measured >= 1.0 && measured.fract() == 0.0, "{measured} {result}");
    assert_eq!(due as f64, 400.0 * measured, "{}", result["requests"]);
    assert_code(&fleet.run("fleet collect 1-2"), &[1]);
    assert_code(&fleet.run("fleet collect ../x"), &[2]);
}

#[test]
fn a_whole_load_is_collected_as_it_was_reported() {
    if !is_here() {
        return;
    }
    let (fleet, target) = (Fleet::up(2), Target::start());
    let output =
        fleet.run(&format!("load {} --on 2 -c 4 -R 300 -d 2 --json - --quiet --allow-untrusted", target.url()));
    assert_code(&output, &[0]);
    let told = json(&output);
    let again = fleet.run(&format!("fleet collect {} --json -", told["fleet"]["run"].as_str().unwrap()));
    let again = json(&again);
    for part in ["requests", "latency", "errors", "bytes", "connections"] {
        // When connections were opened is not kept.
        let without = |result: &Value| {
            let mut part = result[part].clone();
            part.as_object_mut().unwrap().remove("connect_rate_per_s");
            part
        };
        assert_eq!(without(&again), without(&told), "{part}");
    }
    assert_eq!((&again["load"], &again["interrupted"]), (&told["load"], &Value::from(false)));
}

#[test]
fn a_doctor_looks_at_server_agents_and_clocks() {
    if !is_here() {
        return;
    }
    let fleet = Fleet::up(1);
    let output = fleet.run("fleet doctor --json");
    assert_code(&output, &[0, 3]);
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |subject: &str| {
        let all = findings.as_array().unwrap();
        all.iter()
            .find(|finding| finding["subject"] == subject)
            .unwrap_or_else(|| panic!("{subject}: {findings}"))
            .clone()
    };
    assert_eq!(of("local-1: program")["state"], "good");
    assert!(of("local-1: clock")["evidence"].as_str().unwrap().contains("known to"), "{findings}");
    assert!(of("local-1: may load")["evidence"].as_str().unwrap().contains("127.0.0.0/8"));
    let none = Fleet::up(0);
    let output = none.run("fleet doctor");
    assert_code(&output, &[3]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("brunt fleet key NAME"), "{}", text(&output));
}

#[test]
fn a_server_that_is_killed_ends_the_fleet_and_what_it_has_started() {
    if !is_here() {
        return;
    }
    let fleet = Fleet::up(1);
    let agent = fleet.pid_of("local-1");
    signal(fleet.pid_of_server(), Signal::KILL);
    assert_eq!(fleet.ended().code(), Some(1));
    until("its agent has ended", || !brunt_testkit::is_running(agent));
}
