//! `brunt find` finds the limit of a server.

use crate::shared::find::find;
use crate::shared::server::Server;
use brunt_testkit::{alone, home, judge, told};
use std::fs;
use std::process::Command;

/// Requests per second that these connections reach in a closed loop at this moment.
fn closed_loop(url: &str, connections: &str) -> f64 {
    let home = home();
    let output = Command::new(env!("CARGO_BIN_EXE_brunt"))
        .current_dir(home.path())
        .args(["load", url, "-c", connections, "-d", "1s", "--out", "here", "--quiet", "--allow-untrusted"])
        .output()
        .unwrap();
    told(&output, 0);
    let result: serde_json::Value =
        serde_json::from_slice(&fs::read(home.path().join("here/result.json")).unwrap()).unwrap();
    result["requests"]["rate"].as_f64().unwrap()
}

/// An error unless a search finds the knee near the closed-loop throughput of the same connections just before and after it.
fn finds_capacity(url: &str, connections: &str, flags: &str) -> Result<(), String> {
    let home = home();
    let before = closed_loop(url, connections);
    let output =
        find(home.path(), &format!("{flags} --json --quiet"), url, &format!("-c {connections}")).output().unwrap();
    let after = closed_loop(url, connections);
    // The generator may be late where the service breaks: exit code 3, with the same knee.
    let (stdout, stderr) = told(&output, if output.status.code() == Some(3) { 3 } else { 0 });
    assert_eq!(stderr, "");
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let end = &found["end"];
    let (rate, breaks) = (end["rate"].as_f64(), end["breaks"].as_f64().or(end["limited"].as_f64()));
    let (low, high) = (before.min(after), before.max(after));
    assert!(breaks.is_none() || breaks > rate, "{found:#}");
    let is_near = rate.is_some_and(|rate| rate >= 0.75 * low && rate <= 1.1 * high)
        && breaks.is_some_and(|breaks| breaks >= 0.8 * low && breaks <= 1.4 * high);
    if is_near { Ok(()) } else { Err(format!("{end}, closed loop {low:.1} to {high:.1}")) }
}

/// By Little's law four connections with replies after 10 ms carry at most 400 requests a second.
#[test]
fn a_knee_is_found_where_littles_law_puts_it() {
    let _alone = alone();
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args("serve http --service httpbin --listen 127.0.0.1:0 --model epoll".split(' '));
    let server = Server::start(command);
    let url = format!("http://{}/delay/0.01", server.address());
    let flags = "--slo p50<50ms --from 180 --precision 40% --step 500ms --confirm 500ms";
    judge("a search finds the knee", || finds_capacity(&url, "4", flags));
}
