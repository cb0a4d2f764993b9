//! What stands behind the listener that is loaded: found, metered, and a part of the cost of a request.

use crate::shared::server::{Server, serve};
use crate::shared::target::{Run, Target, json, load, number};
use brunt_meter::process::cpu_of;
use brunt_testkit::{Signal, assert_code, text};
use serde_json::Value;
use std::time::Duration;

const REQUESTS: u64 = 2000;

/// An echo server that computes for 100 us a request.
pub fn backend() -> Server {
    Server::start(serve("--listen 127.0.0.1:0 --work spin=100us"))
}

/// CPU time of these processes for each of the requests, in microseconds, and the result of a load of them.
pub fn loaded(url: &str, flags: &str, pids: &[u32]) -> (Vec<f64>, Value) {
    let used = || pids.iter().map(|pid| cpu_of(*pid).unwrap()).collect::<Vec<_>>();
    let before = used();
    // At a rate, as the kernel does not account for what happens in less than some of its ticks.
    let flags = format!("-n {REQUESTS} -R 10k -c 4 --json - --quiet --allow-untrusted {flags}");
    let output = load(url, &flags).output().unwrap();
    assert_code(&output, &[0]);
    let costs =
        used().into_iter().zip(before).map(|(now, before)| (now - before).as_secs_f64() * 1e6 / REQUESTS as f64);
    (costs.collect(), json(&output))
}

/// Parts by pid, with their costs.
pub fn parts(result: &Value) -> Vec<(u32, f64)> {
    let parts = result["server"]["upstreams"].as_array().cloned().unwrap_or_default();
    parts.iter().map(|part| (number(part, "pid") as u32, number(part, "cpu_us_per_request"))).collect()
}

/// The meters open and close a little before and after the requests.
#[track_caller]
pub fn assert_near(measured: f64, truth: f64) {
    assert!((measured / truth - 1.0).abs() < 0.05, "{measured} us, and {truth} by the kernel's account");
}

#[test]
fn a_request_of_a_relay_costs_what_it_costs_its_backend_too() {
    let backend = backend();
    let relay = Target::start_relay(&backend.address().to_string());
    let pids = [relay.pid(), backend.pid()];
    let (truth, result) = loaded(&relay.url(), "", &pids);
    let [(pid, behind)] = parts(&result)[..] else { panic!("{:#}", result["server"]) };
    assert_eq!(pid, backend.pid());
    let own = number(&result, "server.cpu_us_per_request");
    assert_near(behind, truth[1]);
    assert_near(own + behind, truth.iter().sum());
    let part = &result["server"]["upstreams"][0];
    let expected = (backend.address().to_string(), 4.0, 0.0);
    let connections = ["connections", "other_connections"].map(|name| number(part, name));
    assert_eq!((part["addresses"][0].as_str().unwrap().to_owned(), connections[0], connections[1]), expected);
    // A bound is one on the sum.
    let bounded = format!("-n 500 -R 5k -c 4 --quiet --allow-untrusted --fail-if cost>{}us", (own + 60.0).round());
    let output = load(&relay.url(), &bounded).output().unwrap();
    assert_code(&output, &[99]);
    let page = text(&output);
    assert!(page.contains("\n  upstream    brunt (pid ") && page.contains("\n  service     "), "{page}");
}

#[test]
fn a_chain_is_followed_over_tcp_and_unix_sockets() {
    let folder = brunt_testkit::home();
    let path = folder.path().join("backend.sock");
    let path = path.to_str().unwrap();
    let backend = Server::start(serve(&format!("--listen unix:{path} --work spin=100us")));
    let second = Target::start_relay(path);
    let first = Target::start_relay(&format!("127.0.0.1:{}", second.port()));
    let pids = [first.pid(), second.pid(), backend.pid()];
    let (truth, result) = loaded(&first.url(), "", &pids);
    let parts = parts(&result);
    assert_eq!(parts.iter().map(|(pid, _)| *pid).collect::<Vec<_>>(), pids[1..], "{:#}", result["server"]);
    assert_near(
        number(&result, "server.cpu_us_per_request") + parts.iter().map(|(_, cost)| cost).sum::<f64>(),
        truth.iter().sum(),
    );
}

#[test]
fn what_is_a_part_of_the_service_can_be_said() {
    let backend = backend();
    let relay = Target::start_relay(&backend.address().to_string());
    for flags in ["--only-listener", "--without brunt"] {
        let (_, result) = loaded(&relay.url(), flags, &[]);
        assert!(parts(&result).is_empty() && number(&result, "server.cpu_us_per_request") > 0.0, "{flags}");
    }
    let (truth, result) =
        loaded(&relay.url(), &format!("--only-listener --also-pid {}", backend.pid()), &[backend.pid()]);
    assert_near(parts(&result)[0].1, truth[0]);
    for (flags, said) in [
        ("--also-pid 999999999 -n 1", "--also-pid 999999999: process 999999999 does not exist"),
        ("--only-listener --without x -n 1", "--without and --only-listener"),
        ("--no-meter --without x -n 1", "--without and --no-meter"),
    ] {
        let output = load(&relay.url(), flags).output().unwrap();
        assert!(!output.status.success() && text(&output).contains(said), "{flags}: {}", text(&output));
    }
}

#[test]
fn a_comparison_of_a_relay_is_one_of_its_service() {
    let backend = backend();
    let relay = Target::start_relay(&backend.address().to_string());
    let flags = |more: &str| format!("tcp://{} --compare -c 4 -d 1s --json - --quiet {more}", backend.address());
    let costs = |flags: &str| {
        let output = load(&relay.url(), flags).output().unwrap();
        let result = json(&output);
        let targets = result["targets"].as_array().unwrap_or_else(|| panic!("{result:#}")).clone();
        (targets.iter().map(|target| number(target, "figures.cost")).collect::<Vec<_>>(), result.to_string())
    };
    let (whole, notes) = costs(&flags(""));
    assert!(whole[0] > whole[1] && whole[1] > 100.0, "{whole:?}");
    assert!(notes.contains(&format!("is that of its service, with brunt (pid {})", backend.pid())), "{notes}");
    let (alone, notes) = costs(&flags("--only-listener"));
    assert!(alone[0] < 100.0 && !notes.contains("of its service"), "{alone:?} {notes}");
}

#[test]
fn a_server_that_is_restarted_in_the_load_is_metered_on() {
    let mut first = Target::start();
    let run = Run::start(load(&first.url(), "-c 2 -R 200 -d 60s --warmup 0s --json - --allow-untrusted"));
    first.until_answered();
    let before = first.pid();
    let mut second = first.restart();
    second.until_answered();
    // Its requests are some seconds' work of a meter that samples every second.
    let used = || cpu_of(second.pid()).unwrap();
    let begun = used();
    brunt_testkit::until("it has used CPU time for requests", || used() - begun >= Duration::from_millis(20));
    run.signal(Signal::INT);
    let output = run.end();
    let (result, said) = (json(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(said.contains(&format!("server pid {before} ended after ")), "{said}");
    assert!(said.contains(&format!("; pid {} serves now", second.pid())), "{said}");
    // Where the load noticed that nothing listened, it names what listens now.
    for outage in result["connections"]["outages"].as_array().unwrap() {
        assert_eq!(outage["back_as"], second.pid(), "{outage}");
    }
    let all = number(&result, "server.cpu_us_per_request") * number(&result, "requests.completed");
    assert!(all >= 20_000.0, "{all} us: {:#}", result["server"]);
    assert!(!result["verdict"]["why"].to_string().contains("exited"), "{:#}", result["verdict"]);
}
