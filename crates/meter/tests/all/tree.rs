//! What is known of a process tree beside CPU time: page faults, switches, its end.

use crate::shared::Actor;
use brunt_meter::process::{Tree, Window};
use brunt_testkit::until;
use std::time::Duration;

#[test]
fn page_faults_and_switches_agree_with_getrusage() {
    let mut actor = Actor::start();
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let (faults, switches) = (actor.count("faults"), actor.count("switches"));
    let window = Window::open(&mut tree);
    actor.run("touch 2000");
    actor.run("sleep 50");
    let usage = window.close(&mut tree);
    let (faults, switches) = (actor.count("faults") - faults, actor.count("switches") - switches);
    // Reading and answering a command costs a few of each.
    let near = |measured: u64, truth: u64| measured.abs_diff(truth) <= 10 + truth / 100;
    assert!(switches >= 50, "{switches}");
    assert!(near(usage.faults.minor, faults), "{:?}, {faults}", usage.faults);
    assert!(near(usage.switches.unwrap().voluntary, switches), "{:?}, {switches}", usage.switches);
}

#[test]
fn faults_of_ended_children_are_kept_and_switches_are_absent_if_threads_ended() {
    let mut actor = Actor::start();
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let window = Window::open(&mut tree);
    let first = window.first;
    actor.run("child 20");
    let while_it_ran = tree.sample().faults_since(&first).minor;
    assert!(while_it_ran >= 100, "a program that starts maps more pages than {while_it_ran}");
    actor.run("burn 10");
    assert!(tree.sample().faults_since(&first).minor >= while_it_ran);

    let mut window = Window::open(&mut tree);
    actor.send("threads 100");
    until("a thread more", || {
        let now = tree.sample();
        window.sample_threads(&tree, &now);
        now.threads > first.threads
    });
    actor.reply();
    let usage = window.close(&mut tree);
    // Unless every sample missed the thread that ended.
    assert!(usage.switches.is_none() || usage.threads >= first.threads, "{usage:?}");
}

#[test]
fn a_killed_root_is_reported() {
    let actor = Actor::start();
    let mut meter = brunt_meter::ServerMeter::attach(actor.pid()).unwrap();
    meter.open();
    actor.kill();
    until("the end", || {
        let mut second = brunt_results::series::Second::default();
        meter.sample(&mut second);
        second.server_rss_bytes.is_none()
    });
    let (server, absent) = meter.close(10, Duration::MAX);
    assert_eq!((server.cpu_user_percent, server.cpu_us_per_request), (None, None));
    assert!(absent["server.cpu_us_per_request"].contains("ended"), "{absent:?}");
    assert!(Tree::new(&[1 << 30]).is_err());
}

#[test]
fn a_meter_started_by_its_target_is_excluded() {
    let parent = std::os::unix::process::parent_id();
    let tree = Tree::new(&[parent]).unwrap();
    assert!(tree.pids().contains(&parent) && !tree.pids().contains(&std::process::id()));
    // If named, it is metered.
    assert_eq!(Tree::new(&[std::process::id()]).unwrap().pids()[0], std::process::id());
}
