//! Servers that come later than the load, or go and come back in it.

use crate::shared::target::{Run, Target, json, load, number};
use brunt_testkit::{Signal, assert_code, free_port, text};

#[test]
fn a_load_waits_until_its_target_answers() {
    let port = free_port();
    let url = format!("tcp://127.0.0.1:{port}");
    let mut run = Run::start(load(&url, "-n 10 -c 1 --wait 60s --json - --allow-untrusted"));
    let said = run.line().unwrap();
    assert!(said.starts_with(&format!("waiting until {url} answers: nothing listens on 127.0.0.1:{port} ")), "{said}");
    let target = Target::start_at(port);
    let said = run.line().unwrap();
    assert!(said.starts_with("it answered after "), "{said}");
    let output = run.end();
    assert_code(&output, &[0]);
    let result = json(&output);
    // Found once it was there.
    assert_eq!((number(&result, "server.pid"), number(&result, "requests.completed")), (f64::from(target.pid()), 10.0));
}

#[test]
fn a_load_does_not_wait_for_ever() {
    let closed = format!("http://127.0.0.1:{}/", free_port());
    let output = load(&closed, "-n 1 --wait 50ms").output().unwrap();
    assert_code(&output, &[1]);
    let said = text(&output);
    assert!(said.contains("error: --wait 50ms is over: nothing listens on 127.0.0.1:"), "{said}");
    // A reply that the load would count as failed is not the one that is waited for.
    let web = Target::start_web();
    let output = load(&web.http("/status/503"), "-n 1 --wait 50ms").output().unwrap();
    assert_code(&output, &[1]);
    assert!(text(&output).contains("--wait 50ms is over: status 503"), "{}", text(&output));
    let output = load(&web.http("/status/503"), "-n 1 --wait 50ms --expect-status 503").output().unwrap();
    assert_code(&output, &[0]);
    // Ctrl-C ends it.
    let mut run = Run::start(load(&closed, "-n 1 --wait 1h"));
    assert!(run.line().unwrap().starts_with("waiting until "));
    run.signal(Signal::INT);
    let said = run.line().unwrap();
    assert!(said.starts_with("error: interrupted while --wait 1h waited: nothing listens"), "{said}");
    assert_code(&run.end(), &[1]);
}

#[test]
fn the_server_runs_on_other_cores_for_the_load_and_gets_its_own_back() {
    let target = Target::start();
    let cores = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", target.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        line.trim().to_owned()
    };
    let before = cores();
    let last: usize = before.rsplit([',', '-']).next().unwrap().parse().unwrap();
    let moved = Run::start(load(&target.url(), &format!("-c 1 -d 1h --server-cores {last} --json -")));
    brunt_testkit::until("it is moved", || cores() == last.to_string());
    moved.signal(Signal::INT);
    let output = moved.end();
    assert_eq!(cores(), before);
    let placed = &json(&output)["server"]["placed"];
    assert_eq!(placed["cores"], serde_json::json!([last]), "{placed}");
    // What stands behind a server is moved with it.
    let relay = Target::start_relay(&format!("127.0.0.1:{}", target.port()));
    let mut moved = Run::start(load(&relay.url(), &format!("-c 1 -d 1h --server-cores {last} --json -")));
    brunt_testkit::until("it is moved", || cores() == last.to_string());
    moved.signal(Signal::INT);
    while moved.line().is_some() {}
    moved.end();
    assert_eq!(cores(), before);
    for (flags, said) in [
        ("--server-cores 4000 -n 1", "--server-cores 4000: process "),
        ("--server-cores x -n 1", "'x' is not a list of cores"),
        ("--server-cores 0 --no-meter -n 1", "--server-cores and --no-meter"),
    ] {
        let output = load(&target.url(), flags).output().unwrap();
        assert!(!output.status.success() && text(&output).contains(said), "{flags}: {}", text(&output));
    }
    assert_eq!(cores(), before);
}
