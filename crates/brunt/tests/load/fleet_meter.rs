//! Servers that agents meter.

use super::fleet::stderr;
use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::{Target, json};
use brunt_testkit::{Signal, assert_code, signal, text};
use std::fs;

/// CPU time that a process has used at most: the kernel tells it in ticks of 10 ms, rounded down, for each of two modes.
fn used_us(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: f64 = fields[11..13].iter().map(|field| field.parse::<f64>().unwrap() + 1.0).sum();
    ticks * 1e4
}

#[test]
fn an_agent_meters_the_server_of_a_load_of_this_machine_or_of_other_agents() {
    if !is_here() {
        return;
    }
    let (fleet, target) = (Fleet::up(2), Target::start_web());
    for flags in ["", "--on local-2"] {
        let words = format!("load {} --meter local-1 {flags} -c 2 -d 2", target.http("/"));
        let output = fleet.run(&format!("{words} --json - --quiet --allow-untrusted"));
        assert_code(&output, &[0]);
        let (result, machine) = (json(&output), &json(&output)["server"]["machine"]);
        let server = &result["server"];
        assert_eq!((server["pid"].as_u64(), machine["agent"].as_str()), (Some(target.pid().into()), Some("local-1")));
        // What all requests of the window cost is no more than the server has used in its life.
        let completed = result["requests"]["completed"].as_f64().unwrap();
        let cost = server["cpu_us_per_request"].as_f64().unwrap();
        let used = used_us(target.pid());
        assert!(cost > 0.0 && cost * completed <= used, "{cost} {completed} {used} {server}");
        assert!(machine["delay_us"].as_f64().unwrap() > 0.0, "{machine}");
        assert!(machine["host"]["cpu_percent"].is_number() && server["rss_bytes"].is_number(), "{server}");
    }
    fleet.until_idle();
}

#[test]
fn slices_are_costed_by_an_agent() {
    if !is_here() {
        return;
    }
    let (fleet, [one, other]) = (Fleet::up(1), [Target::start_web(), Target::start_web()]);
    let words = format!("load {} {} --compare --meter local-1 -c 2 -d 2", one.http("/"), other.http("/"));
    let output = fleet.run(&format!("{words} --json - --quiet"));
    // Whether two seconds are enough for an answer is chance.
    assert_code(&output, &[0, 3]);
    let compared = json(&output);
    let targets = compared["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 2, "{compared}");
    assert!(
        targets.iter().all(|target| target["figures"]["cost"].as_f64().is_some_and(|cost| cost > 0.0)),
        "{compared:#}"
    );
}

#[test]
fn a_meter_that_cannot_be_is_refused_and_one_that_is_lost_says_so() {
    if !is_here() {
        return;
    }
    let (fleet, mut target) = (Fleet::up(2), Target::start());
    let unused = brunt_testkit::free_port();
    for (flags, code, needle) in [
        ("--meter nobody".to_owned(), 1, "no agent 'nobody'; there is local-1, local-2"),
        ("--meter 2".to_owned(), 2, "one agent is meant"),
        ("--meter local-1 --no-meter".to_owned(), 2, "give one of them"),
        ("--meter local-1 --server-pid 999999999".to_owned(), 1, "agent local-1: --server-pid"),
        (String::new(), 2, "add --on, --meter or --probe"),
    ] {
        let output = fleet.run(&format!("load {} {flags} -n 1 --quiet", target.url()));
        assert_code(&output, &[code]);
        assert!(stderr(&output).contains(needle), "{}", text(&output));
    }
    let output = fleet.run(&format!("load tcp://127.0.0.1:{unused} --meter local-1 -n 1 --quiet"));
    assert_code(&output, &[1]);
    assert!(stderr(&output).contains("agent local-1: ") && stderr(&output).contains("listens on"), "{}", text(&output));
    let _careful = fleet.agent("careful", "meter = false\n");
    let output = fleet.run(&format!("load {} --meter careful -n 1 --quiet", target.url()));
    assert_code(&output, &[1]);
    assert!(stderr(&output).contains("its owner allows no server to be metered"), "{}", text(&output));
    // The agent is killed once the load has begun: the load goes on, and says why nothing is known of the server.
    let (agent, words) =
        (fleet.pid_of("local-2"), format!("load {} --meter local-2 -d 2 --allow-untrusted", target.url()));
    let load = brunt_testkit::Running::start(&mut fleet.command(&words));
    target.until_answered();
    signal(agent, Signal::KILL);
    let output = load.output();
    assert_code(&output, &[0]);
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains("not metered: agent local-2: it did not answer in time"), "{}", text(&output));
}

#[test]
fn a_machine_that_makes_no_load_sends_a_few_of_its_requests() {
    if !is_here() {
        return;
    }
    let (fleet, target) = (Fleet::up(2), Target::start_web());
    for flags in ["-R 400", "--on local-2"] {
        let words = format!("load {} {flags} --probe local-1 -c 2 -d 2", target.http("/"));
        let output = fleet.run(&format!("{words} --json - --quiet --allow-untrusted"));
        assert_code(&output, &[0]);
        let probe = &json(&output)["probe"];
        assert_eq!((probe["agent"].as_str(), probe["rate"].as_f64()), (Some("local-1"), Some(100.0)), "{probe}");
        assert_eq!((probe["connections"].as_u64(), probe["failed"].as_u64()), (Some(2), Some(0)), "{probe}");
        assert!(probe["completed"].as_u64().is_some_and(|count| count > 0) && probe["p50_us"].is_number(), "{probe}");
    }
    for (flags, code, needle) in [
        ("--on local-1 --probe local-1", 2, "agent local-1 makes the load"),
        ("--probe nobody", 1, "no agent 'nobody'"),
        ("--probe 2", 2, "one agent is meant"),
    ] {
        let output = fleet.run(&format!("load {} {flags} -n 1 --quiet", target.http("/")));
        assert_code(&output, &[code]);
        assert!(stderr(&output).contains(needle), "{}", text(&output));
    }
    // What its owner does not allow is refused before the load.
    let _agent = fleet.agent("careful", "rate = '5'\n");
    let output = fleet.run(&format!("load {} --probe careful -n 1 --quiet", target.http("/")));
    assert_code(&output, &[1]);
    assert!(stderr(&output).contains("agent careful: it may send at most 5 requests a second"), "{}", text(&output));
    fleet.until_idle();
}
