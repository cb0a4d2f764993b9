//! Loads of several coordinators through one fleet.

use super::fleet::stderr;
use crate::shared::fleet::{Fleet, is_here};
use crate::shared::target::{Target, json};
use brunt_testkit::{Running, Signal, assert_code, text};

#[test]
fn a_second_load_of_the_same_address_is_refused_unless_it_is_allowed() {
    if !is_here() {
        return;
    }
    let (fleet, mut target, other) = (Fleet::up(2), Target::start(), Target::start());
    let first = format!("load {} --on local-1 -c 2 -R 100 -d 600 --warmup 0s --quiet --allow-untrusted", target.url());
    let load = Running::start(&mut fleet.command(&first));
    target.until_answered();
    let run = fleet.agents()[0]["busy"]["run"].as_str().expect("a run").to_owned();
    let second = |url: &str, flags: &str| {
        fleet.run(&format!("load {url} --on local-2 -c 1 -n 5 --json - --quiet --allow-untrusted {flags}"))
    };
    let output = second(&target.url(), "");
    assert_code(&output, &[1]);
    let told = stderr(&output);
    let address = target.url().trim_start_matches("tcp://").to_owned();
    for needle in [&*format!("run {run} of "), "pid ", &address, "for at most ", " s more", "--with-others"] {
        assert!(told.contains(needle) && told.lines().count() == 1, "{needle}: {told}");
    }
    fleet.run("fleet ls");
    for (url, flags) in [(other.url(), ""), (target.url(), "--with-others")] {
        let output = second(&url, flags);
        assert_code(&output, &[0]);
        assert_eq!(json(&output)["requests"]["completed"], 5, "{}", text(&output));
    }
    assert!(!load.is_over());
    load.signal(Signal::INT);
    assert_code(&load.output(), &[0]);
    // It is free for another.
    assert_code(&second(&target.url(), ""), &[0]);
    let output = fleet.run(&format!("load {} --with-others -n 1", target.url()));
    assert_code(&output, &[2]);
}
