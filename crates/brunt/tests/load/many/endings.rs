//! Endings of multi-process commands: no process is left behind, and results and errors are printed.

use crate::shared::band::{Load, brunt, children, json, number, until_gone};
use crate::shared::server::{Server, ask, connect, free_port};
use brunt_testkit::{Signal, home, signal, text, until};
use std::path::Path;

fn server() -> Server {
    Server::start(brunt(&format!("serve echo --listen 127.0.0.1:{} --connections 300", free_port())))
}

#[test]
fn a_server_that_loses_a_process_ends_and_names_it() {
    let server = server();
    let serving = children(server.pid());
    signal(serving[1], Signal::KILL);
    let (status, _, said) = server.end();
    assert_eq!(status.code(), Some(1), "{said}");
    let named = format!("(pid {}) was killed by signal 9", serving[1]);
    assert!(said.contains(&named) && said.contains("the server has ended"), "{said}");
    until_gone(&serving);
}

#[test]
fn a_server_that_is_killed_leaves_no_process() {
    let server = server();
    ask(&mut connect(server.address()), b"served");
    let serving = children(server.pid());
    assert!(serving.len() >= 3, "{serving:?}");
    server.signal(Signal::KILL);
    until_gone(&serving);
}

/// A running load and its processes.
fn under_way(server: &Server, flags: &str) -> (Load, Vec<u32>) {
    let load = Load::start(&format!("tcp://{} -c 300 -d 600s -T 30s {flags}", server.address()));
    until("the load has its processes", || children(load.pid()).len() >= 2);
    // All connections are open once the server's processes hold them.
    let held = || {
        let files = |pid: &u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
        children(server.pid()).iter().map(files).sum::<usize>()
    };
    until("the load has its connections", || held() >= 300);
    let processes = children(load.pid());
    (load, processes)
}

/// Waits for two seconds of the series.
fn until_measured(directory: &Path) {
    let series = || std::fs::read_to_string(directory.join("series.jsonl")).unwrap_or_default();
    until("two seconds are measured", || series().lines().count() >= 2);
}

#[test]
fn a_load_that_loses_a_process_ends_and_keeps_what_was_measured() {
    let server = server();
    let home = home();
    let (load, processes) = under_way(&server, &format!("--warmup 0s --json - --out {}", home.display()));
    until_measured(&home);
    signal(processes[0], Signal::KILL);
    let output = load.end();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let result = json(&output);
    assert_eq!(result["interrupted"], true);
    assert!(number(&result, "requests.completed") > 0.0, "{}", text(&output));
    let stderr = String::from_utf8_lossy(&output.stderr);
    let named = format!("(pid {}) was killed by signal 9", processes[0]);
    assert!(stderr.contains(&named) && stderr.contains("until then"), "{stderr}");
    until_gone(&processes);
}

#[test]
fn a_load_that_is_killed_leaves_no_process() {
    let server = server();
    let (load, processes) = under_way(&server, "--quiet");
    signal(load.pid(), Signal::KILL);
    until_gone(&processes);
}

#[test]
fn ctrl_c_reaches_the_whole_group_and_the_result_is_printed() {
    let server = server();
    let home = home();
    let flags = format!("--warmup 0s --json - --quiet --allow-untrusted --out {}", home.display());
    let (load, processes) = under_way(&server, &flags);
    until_measured(&home);
    load.signal_group(Signal::INT);
    let output = load.end();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let result = json(&output);
    assert_eq!(result["interrupted"], true);
    assert!(number(&result, "requests.completed") > 0.0, "{}", text(&output));
    until_gone(&processes);
}
