//! Loads that several agents make, on a real nats-server.

use crate::shared::fleet::{Fleet, is_here};
use crate::shared::recorder::Recorder;
use crate::shared::target::{Target, json};
use brunt_testkit::{Running, Signal, assert_code, home, program, signal, text, until};
use serde_json::Value;
use std::process::Command;
use std::{fs, net::SocketAddr};

pub(super) fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn agents_make_one_load_and_one_result() {
    if !is_here() {
        return;
    }
    let (fleet, target) = (Fleet::up(2), Target::start());
    let words = format!("load {} --on 2 -c 6 -R 600 -d 2 --json - --quiet --allow-untrusted", target.url());
    let output = fleet.run(&words);
    assert_code(&output, &[0]);
    let result = json(&output);
    let made = &result["fleet"];
    let agents = made["agents"].as_array().unwrap();
    assert_eq!((&made["arrival"], made["whole_seconds"].as_u64()), (&Value::from("constant x 2"), Some(3)), "{made}");
    assert_eq!(agents.iter().map(|agent| agent["id"].as_str().unwrap()).collect::<Vec<_>>(), ["local-1", "local-2"]);
    let sum: u64 = agents.iter().map(|agent| agent["completed"].as_u64().unwrap()).sum();
    let requests = &result["requests"];
    assert_eq!(requests["due"].as_u64(), Some(1200), "{requests}");
    assert_eq!(requests["completed"].as_u64(), Some(sum), "{requests} {made}");
    assert!(agents.iter().all(|agent| agent["connections"] == 3 && agent["clock_error_us"].is_number()), "{made}");
    assert_eq!(result["connections"]["opened"].as_u64(), Some(6));
    fleet.until_idle();
    // The same agents make another one, closed loop, and each has a line.
    let output = fleet.run(&format!("load {} --on local-2,local-1 -c 4 -t 2 -d 1 --allow-untrusted", target.url()));
    assert_code(&output, &[0]);
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains("2 agents, began within") && page.contains("local-2: "), "{page}");
    assert!(stderr(&output).contains("on 2 agents, closed loop"), "{}", text(&output));
    assert!(fleet.end().success());
}

#[test]
fn a_number_of_requests_is_split_and_the_server_gets_exactly_as_many() {
    if !is_here() {
        return;
    }
    let (fleet, server) = (Fleet::up(2), Recorder::start());
    for (flags, count) in [
        ("-n 7 -c 4", 7),
        ("-n 50 -R 500 -c 2", 50),
        // The share of one agent is 0.
        ("-n 1 -c 2 -d 600", 1),
        ("-n 5 -c 2 -R 100 --arrival poisson", 5),
        // Longer than a second.
        ("-n 600 -c 3 -R 500", 600),
    ] {
        let words = format!("load {} --on 2 {flags} --json - --quiet --allow-untrusted", server.url());
        let output = fleet.run(&words);
        assert_code(&output, &[0]);
        assert_eq!(server.take().len(), count, "{flags}: {}", text(&output));
        let result = json(&output);
        let (requests, made) = (&result["requests"], &result["fleet"]);
        assert_eq!(requests["completed"].as_u64(), Some(count as u64), "{flags}: {requests}");
        assert_eq!(requests["unanswered"].as_u64(), Some(0), "{flags}: {requests}");
        assert_eq!(result["load"]["requests"].as_u64(), Some(count as u64), "{flags}");
        let agents = made["agents"].as_array().unwrap();
        let sum: u64 = agents.iter().map(|agent| agent["completed"].as_u64().unwrap()).sum();
        assert_eq!((sum, agents.len()), (count as u64, 2), "{flags}: {made}");
        assert!(agents.iter().all(|agent| agent["lost"].is_null()) && made["missing"] == Value::Array(Vec::new()));
        // As on one machine: the window lasts until the request behind the last would be due, and no longer than its replies take.
        let measured = result["load"]["measured_s"].as_f64().unwrap();
        let rate = requests["rate"].as_f64().unwrap();
        assert!((rate * measured / count as f64 - 1.0).abs() < 1e-6, "{flags}: {rate} {measured}");
        assert!(!flags.contains("-R 500") || measured >= 0.1 - 1e-6, "{flags}: {measured}");
        fleet.until_idle();
    }
    assert!(fleet.end().success());
}

#[test]
fn http_loads_are_merged_by_status_and_name() {
    if !is_here() {
        return;
    }
    let (fleet, target) = (Fleet::up(2), Target::start_web());
    let urls = format!("{} {}", target.http("/status/200"), target.http("/status/404"));
    let flags = "--names good,missing --expect-status 200,404 -c 4 -R 200 -d 1 --warmup 0s";
    let output = fleet.run(&format!("load {urls} {flags} --on 2 --json - --quiet --allow-untrusted"));
    assert_code(&output, &[0]);
    let result = json(&output);
    let names = result["names"].as_array().unwrap();
    let completed = |name: &str| names.iter().find(|part| part["name"] == name).unwrap()["completed"].as_u64().unwrap();
    let all = result["requests"]["completed"].as_u64().unwrap();
    assert_eq!(completed("good") + completed("missing"), all, "{names:?}");
    let by_status = &result["responses"]["statuses"];
    assert_eq!(by_status["200"].as_u64(), Some(completed("good")), "{by_status}");
    assert_eq!(by_status["404"].as_u64(), Some(completed("missing")), "{by_status}");
}

#[test]
fn a_killed_agent_ends_the_load_and_is_named() {
    if !is_here() {
        return;
    }
    let (fleet, mut target) = (Fleet::up(2), Target::start());
    let path = fleet.home().join("result.json");
    let words = format!("load {} --on 2 -c 4 -R 400 -d 600 --json {} --quiet", target.url(), path.display());
    let load = Running::start(&mut fleet.command(&words));
    target.until_answered();
    signal(fleet.pid_of("local-2"), Signal::KILL);
    let output = load.output();
    assert_code(&output, &[1]);
    let told = stderr(&output);
    assert!(told.contains("agent local-2 was lost") && told.lines().count() == 1, "{told}");
    let result: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(result["verdict"]["kind"], "agent-lost", "{}", result["verdict"]);
    let whole = result["fleet"]["whole_seconds"].as_u64().unwrap();
    let measured = result["load"]["measured_s"].as_f64().unwrap() + result["load"]["warmup_s"].as_f64().unwrap();
    assert!(measured <= whole as f64 + 1e-6, "{measured} s of {whole} whole seconds");
}

#[test]
fn agents_end_by_themselves_without_their_coordinator() {
    if !is_here() {
        return;
    }
    let (fleet, mut target) = (Fleet::up(1), Target::start());
    let load = Running::start(&mut fleet.command(&format!("load {} --on 1 -c 2 -R 200 -d 600 --quiet", target.url())));
    target.until_answered();
    load.signal(Signal::KILL);
    // The lease itself is tested to the nanosecond in the simulated world.
    until("the load is over", || fleet.agents()[0]["busy"].is_null());
    let output = fleet.run(&format!("load {} --on 1 -c 2 -R 200 -d 300ms --quiet --allow-untrusted", target.url()));
    assert_code(&output, &[0]);
}

#[test]
fn a_load_is_stopped_by_its_run_or_by_ctrl_c_and_keeps_what_it_has() {
    if !is_here() {
        return;
    }
    let (fleet, mut target) = (Fleet::up(2), Target::start());
    let words = format!("load {} --on 2 -c 2 -R 200 -d 600 --warmup 0s --allow-untrusted", target.url());
    for by_run in [true, false] {
        let load = Running::start(&mut fleet.command(&words));
        target.until_answered();
        if by_run {
            let agents = fleet.agents();
            let run = agents.iter().find_map(|agent| agent["busy"]["run"].as_str()).expect("a run");
            assert_code(&fleet.run(&format!("fleet stop not-{run}")), &[1]);
            assert!(!load.is_over());
            assert_code(&fleet.run(&format!("fleet stop {run}")), &[0]);
        } else {
            load.signal(Signal::INT);
        }
        let output = load.output();
        assert_code(&output, &[0]);
        let page = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(page.contains("INTERRUPTED") && page.contains("2 agents"), "{page}");
        fleet.until_idle();
        target = target.restart();
    }
}

#[test]
fn what_an_agent_may_not_load_is_refused_without_a_connection() {
    if !is_here() {
        return;
    }
    let fleet = Fleet::up(0);
    let target = Target::start();
    let config =
        format!("allow = [\"127.0.0.1:{}\"]\nrate = \"100\"\nconnections = \"4\"\nduration = \"5s\"", target.port());
    let _agent = fleet.agent("careful", &config);
    let other = Target::start();
    let address: SocketAddr = other.url().trim_start_matches("tcp://").parse().unwrap();
    for (words, needle) in [
        (format!("{} -c 1 -R 10 -d 1", other.url()), format!("may not load {address}")),
        (format!("{} -c 1 -R 200 -d 1", target.url()), "at most 100 requests a second".to_owned()),
        (format!("{} -c 1 -d 1", target.url()), "a closed loop has no limit".to_owned()),
        (format!("{} -c 5 -R 10 -d 1", target.url()), "at most 4 connections".to_owned()),
        (format!("{} -c 1 -R 10 -d 6", target.url()), "for at most 5s".to_owned()),
    ] {
        let output = fleet.run(&format!("load {words} --on careful --quiet"));
        assert_code(&output, &[1]);
        let told = stderr(&output);
        assert!(
            told.contains(&needle) && told.contains("agent careful") && told.lines().count() == 1,
            "{words}: {told}"
        );
    }
    let output =
        fleet.run(&format!("load {} -c 2 -R 50 -d 300ms --on careful --quiet --allow-untrusted", target.url()));
    assert_code(&output, &[0]);
}

#[test]
fn agents_that_are_not_there_and_keys_that_are_not_known_are_named() {
    if !is_here() {
        return;
    }
    let fleet = Fleet::up(1);
    for (on, needle) in [
        ("2", "1 of 2 agents; there is local-1"),
        ("web-1", "no agent 'web-1'; there is local-1"),
        ("role=load", "no agent has it; there is local-1"),
        ("local-1,local-1", "named twice"),
    ] {
        let output = fleet.run(&format!("load tcp://127.0.0.1:9 --on {on} --quiet"));
        assert!(!output.status.success() && stderr(&output).contains(needle), "{on}: {}", text(&output));
    }
    // A second agent of that name, and the key of an agent as an operator's.
    let mut agent = Command::new(env!("CARGO_BIN_EXE_brunt"));
    agent.args(["agent", "--id", "local-1", "--fleet"]).arg(fleet.home().join("agents/local-1.fleet"));
    let twice = agent.env("BRUNT_STATE_DIR", fleet.home().join("state")).output().unwrap();
    assert_code(&twice, &[1]);
    assert!(stderr(&twice).contains("'local-1' is there already"), "{}", text(&twice));
    let mut ls = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let own = fs::read_to_string(fleet.home().join("operator.fleet")).unwrap();
    let strange = fleet.home().join("strange.fleet");
    let key = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU";
    let mut access: Value = serde_json::from_str(&own).unwrap();
    access["key"] = Value::from(key);
    fs::write(&strange, access.to_string()).unwrap();
    let output = ls.args(["fleet", "ls", "--fleet"]).arg(&strange).output().unwrap();
    assert_code(&output, &[1]);
    assert!(stderr(&output).contains("does not know this key") && !text(&output).contains(key), "{}", text(&output));
}

#[test]
fn an_old_server_or_none_is_refused_with_what_to_do() {
    let home = home();
    let old = home.join("nats-server");
    program(&old, "#!/bin/sh\necho 'nats-server: v2.9.10'\n");
    for (server, needle) in [(old, "2.12 or later is needed"), (home.join("none"), "go install")] {
        let mut up = Command::new(env!("CARGO_BIN_EXE_brunt"));
        up.args(["fleet", "up", "--server"]).arg(&server).arg("--dir").arg(home.join("fleet"));
        let output = up.output().unwrap();
        assert_code(&output, &[1]);
        assert!(stderr(&output).contains(needle) && stderr(&output).lines().count() == 1, "{}", text(&output));
    }
    let mut load = Command::new(env!("CARGO_BIN_EXE_brunt"));
    load.args(["load", "tcp://127.0.0.1:9", "--on", "1", "--fleet"]).arg(home.join("no.fleet"));
    let output = load.output().unwrap();
    assert_code(&output, &[2]);
    assert!(stderr(&output).contains("brunt fleet up"), "{}", text(&output));
    until("nothing is left", || !home.join("fleet/processes.json").exists());
}
