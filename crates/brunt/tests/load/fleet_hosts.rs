//! Targets on the machines of agents, and plans that use them.

use super::fleet::stderr;
use crate::shared::fleet::{Fleet, is_here};
use brunt_testkit::{Running, Signal, assert_code, signal, text, until};
use serde_json::Value;
use std::fs;
use std::net::TcpStream;
use std::path::Path;

const TARGETS: &str = r#"
name = "targets"
[load]
connections = 1
path = "/"
[[target]]
name = "web"
serve = { service = "http", model = "epoll" }
[[target]]
name = "other"
serve = { service = "http", model = "epoll" }
[[target]]
name = "broken"
command = ["sh", "-c", "echo no such disk >&2; exit 3", "{listen}"]
"#;

const PLAN: &str = r#"
name = "remote"
repeats = 1
[load]
connections = 2
path = "/"
duration = "500ms"
warmup = "0s"
[hosts]
sut = "role=server"
[[target]]
name = "web"
on = "sut"
[[target]]
name = "other"
on = "sut"
"#;

/// A fleet of one agent, and one that may start targets.
fn fleet() -> (Fleet, Running) {
    let fleet = Fleet::up(1);
    fs::write(fleet.home().join("targets.toml"), TARGETS).unwrap();
    let agent = fleet.agent("sut", "targets = 'targets.toml'\nlabels = { role = 'server' }\n");
    (fleet, agent)
}

/// Runs a plan; returns its output and its directory.
fn run(fleet: &Fleet, plan: &str, name: &str) -> (std::process::Output, std::path::PathBuf) {
    let (file, out) = (fleet.home().join(format!("{name}.toml")), fleet.home().join(name));
    fs::write(&file, plan).unwrap();
    let words = format!("run {} --out {} --quiet", file.display(), out.display());
    (fleet.run(&words), out)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Whether something listens where the file of an endpoint says.
fn is_up(endpoint: &Path) -> bool {
    let address = json(endpoint)["address"].as_str().unwrap().parse().unwrap();
    TcpStream::connect_timeout(&address, std::time::Duration::from_secs(1)).is_ok()
}

#[test]
fn a_plan_runs_its_targets_on_the_machine_of_an_agent_under_the_load_of_this_one_or_of_others() {
    if !is_here() {
        return;
    }
    let (fleet, _agent) = fleet();
    let by_agents = PLAN.replace("sut = ", "load = 'local-1'\nsut = ");
    for (plan, name, makers) in [(format!("order = 'trials'\n{PLAN}"), "here", 0), (by_agents, "agents", 1)] {
        let (output, out) = run(&fleet, &plan, name);
        assert_code(&output, &[0]);
        for target in ["web", "other"] {
            let dir = out.join(format!("trials/target={target}/1"));
            let (result, endpoint) = (json(&dir.join("result.json")), dir.join("endpoint.json"));
            let server = &result["server"];
            assert_eq!(server["machine"]["agent"], "sut", "{server}");
            assert_eq!(server["pid"], json(&endpoint)["pid"], "{server}");
            assert!(server["cpu_us_per_request"].as_f64().is_some_and(|cost| cost > 0.0), "{server}");
            assert_eq!(result["fleet"]["agents"].as_array().map_or(0, Vec::len), makers);
            assert!(!is_up(&endpoint), "{target} is still there");
        }
    }
    fleet.until_idle();
}

#[test]
fn targets_of_another_machine_are_compared_by_slices() {
    if !is_here() {
        return;
    }
    let (fleet, _agent) = fleet();
    let (output, out) = run(&fleet, &format!("budget = '1s'\n{PLAN}"), "sliced");
    assert_code(&output, &[0]);
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.contains("by agent sut"), "{}", text(&output));
    let costs = |target: &str| {
        let result = json(&out.join(format!("trials/target={target}/1/result.json")));
        result["server"]["cpu_us_per_request"].as_f64()
    };
    assert!(["web", "other"].iter().all(|target| costs(target).is_some_and(|cost| cost > 0.0)), "{}", text(&output));
}

#[test]
fn a_host_that_is_not_there_is_a_reason_to_skip_and_what_fails_says_why() {
    if !is_here() {
        return;
    }
    let (fleet, _agent) = fleet();
    let (output, _) = run(&fleet, &PLAN.replace("role=server", "nobody"), "nobody");
    assert_code(&output, &[1]);
    assert!(
        stderr(&output).contains("host sut: agents nobody: no agent 'nobody'; there is local-1, sut"),
        "{}",
        text(&output)
    );
    let plan = PLAN.replace("\"other\"", "\"broken\"");
    let (output, out) = run(&fleet, &format!("order = 'trials'\n{plan}"), "broken");
    assert_code(&output, &[1]);
    let failed = fs::read_to_string(out.join("trials/target=broken/1/failed.json")).unwrap();
    assert!(failed.contains("no such disk"), "{failed}");
    for (words, code, needle) in [
        ("fleet start sut nix", 1, "no target 'nix'; there is web, other, broken"),
        ("fleet start local-1 web", 1, "allows no targets to be started"),
        ("fleet start sut broken", 1, "ended with status 3"),
        ("fleet start sut web --set server_cores=x", 2, "server_cores"),
    ] {
        let output = fleet.run(words);
        assert_code(&output, &[code]);
        assert!(stderr(&output).contains(needle), "{words}: {}", text(&output));
    }
}

#[test]
fn a_target_ends_with_what_has_started_it() {
    if !is_here() {
        return;
    }
    let (fleet, mut agent) = fleet();
    let endpoint = fleet.home().join("endpoint.json");
    let words = format!("fleet start sut web --endpoint {}", endpoint.display());
    let up = || {
        let _ = fs::remove_file(&endpoint);
        let mut start = Running::start(&mut fleet.command(&words));
        start.line_after("web is up");
        assert!(is_up(&endpoint));
        start
    };
    let start = up();
    start.signal(Signal::INT);
    assert_code(&start.output(), &[0]);
    assert!(!is_up(&endpoint));
    // An operator ends everything.
    let start = up();
    assert_code(&fleet.run("fleet stop all"), &[0]);
    assert_code(&start.output(), &[1]);
    until("the target is down", || !is_up(&endpoint));
    // Its machine hears nothing more.
    let start = up();
    signal(start.pid(), Signal::KILL);
    until("the target is down", || !is_up(&endpoint));
    // Its owner ends the agent.
    let start = up();
    agent.signal(Signal::INT);
    assert!(agent.end().success());
    assert!(!is_up(&endpoint));
    assert_code(&start.output(), &[1]);
}
