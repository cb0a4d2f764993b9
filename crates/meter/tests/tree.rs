//! CPU time of a process tree agrees with the clocks of its processes, also of those that ended.

mod common;

use brunt_meter::process::{Tree, Usage, Window};
use common::{Actor, assert_close, wait_until};
use std::time::Duration;

#[test]
fn role() {
    common::play_role();
}

const MS: Duration = Duration::from_millis(1);
/// A running thread is accounted up to its last tick (4 ms at 250 Hz), and the child prints between its two clocks.
const FLOOR: Duration = Duration::from_millis(6);

fn usage_of(order: &str) -> (Usage, Duration) {
    let mut actor = Actor::start();
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let window = Window::open(&mut tree);
    let truth = actor.run(order);
    (window.close(&mut tree), truth)
}

#[test]
fn total_agrees_with_the_childs_own_clock_within_two_percent() {
    let (usage, truth) = usage_of("burn 400");
    assert!(truth >= 400 * MS);
    assert_close("total", usage.cpu.total(), truth, 0.02, FLOOR);
    // User and system are known in ticks only.
    assert!(usage.cpu.user > usage.cpu.total().mul_f64(0.7), "{:?}", usage.cpu);
    assert!(usage.rss_bytes > 500_000 && usage.rss_peak_bytes.unwrap() >= usage.rss_bytes);
    assert!(usage.alive && usage.threads >= 1 && !usage.cores.unwrap().is_empty());
}

#[test]
fn total_agrees_with_getrusage_within_one_percent() {
    let mut actor = Actor::start();
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let before = actor.run("cpu");
    let window = Window::open(&mut tree);
    actor.run("burn 700");
    actor.run("burn-system 300");
    let usage = window.close(&mut tree);
    let truth = actor.run("cpu") - before;
    assert!(truth >= 1000 * MS);
    assert_close("total", usage.cpu.total(), truth, 0.01, Duration::ZERO);
}

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
    wait_until("a thread more", || {
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
fn system_time_is_separate() {
    let (usage, truth) = usage_of("burn-system 300");
    assert_close("total", usage.cpu.total(), truth, 0.02, FLOOR);
    assert!(usage.cpu.system > usage.cpu.total().mul_f64(0.6), "{:?}", usage.cpu);
}

#[test]
fn threads_that_end_inside_the_window_are_counted() {
    let (usage, truth) = usage_of("threads 60");
    assert!(truth >= 240 * MS);
    assert_close("total", usage.cpu.total(), truth, 0.02, FLOOR);
}

#[test]
fn the_busiest_thread_is_reported() {
    let (usage, _) = usage_of("uneven 200");
    let busiest = usage.cpu.wall.mul_f64(usage.busiest_thread_percent.unwrap() / 100.0);
    assert_close("busiest thread", busiest, 200 * MS, 0.03, FLOOR);
    assert_close("total", usage.cpu.total(), 300 * MS, 0.05, FLOOR);
}

#[test]
fn children_that_ended_and_were_waited_for_are_counted() {
    let mut actor = Actor::start();
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let window = Window::open(&mut tree);
    actor.run("child 150");
    actor.run("child 50");
    let total = window.close(&mut tree).cpu.total();
    // 200 ms burnt, plus what it takes to start two programs; known in ticks of 10 ms.
    assert!(total > 180 * MS && total < 390 * MS, "{total:?}");
}

#[test]
fn time_of_a_child_before_the_window_is_excluded_though_inherited_inside() {
    let mut actor = Actor::start();
    actor.run("keep");
    actor.run("forward burn 200");
    actor.run("reply");
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let window = Window::open(&mut tree);
    assert_eq!(tree.pids().len(), 2);
    actor.run("forward quit");
    // Its parent waits for it at its own end; until then it is a zombie.
    wait_until("the end of the child", || {
        tree.sample();
        tree.pids().len() == 1
    });
    let total = window.close(&mut tree).cpu.total();
    assert!(total < 150 * MS, "{total:?}");
}

#[test]
fn an_orphan_stays_in_the_tree_and_its_time_is_kept_when_init_reaps_it() {
    // actor -> middle -> burner; middle ends, burner goes on as a child of init, then ends.
    let mut actor = Actor::start();
    actor.run("keep");
    actor.run("forward keep");
    let burner = actor.run("reply").as_nanos() as u32;
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    assert_eq!(tree.pids().len(), 3);
    let window = Window::open(&mut tree);
    let first = window.first;
    actor.run("forward forward burn 100");
    actor.run("reply");
    actor.run("forward quit");
    let mut last = Duration::ZERO;
    let mut sample = |tree: &mut Tree| {
        let total = tree.sample().since(&first).total();
        assert!(total >= last, "the sum fell from {last:?} to {total:?}");
        last = total;
        total
    };
    wait_until("the burn", || sample(&mut tree) >= 95 * MS);
    // Its stdin is closed with the end of middle, so it ends after the burn.
    wait_until("the end of the burner", || {
        sample(&mut tree);
        !tree.pids().contains(&burner)
    });
    let total = window.close(&mut tree).cpu.total();
    assert!(total >= 95 * MS && total < 190 * MS, "{total:?}");
}

#[test]
fn a_killed_root_is_reported() {
    let mut actor = Actor::start();
    let mut meter = brunt_meter::ServerMeter::attach(actor.pid()).unwrap();
    meter.open();
    actor.child.kill().unwrap();
    wait_until("the end", || {
        let mut second = brunt_results::series::Second::default();
        meter.sample(&mut second);
        second.server_rss_bytes.is_none()
    });
    let (server, absent) = meter.close(10);
    assert_eq!((server.cpu_user_percent, server.cpu_us_per_request), (None, None));
    assert!(absent["server.cpu_us_per_request"].contains("ended"), "{absent:?}");
    assert!(Tree::new(&[1 << 30]).is_err());
}

#[test]
fn cost_per_request_is_cpu_time_divided() {
    let mut actor = Actor::start();
    let mut meter = brunt_meter::ServerMeter::attach(actor.pid()).unwrap();
    meter.open();
    let truth = actor.run("burn 200");
    meter.stop();
    actor.run("burn 50");
    let (server, _) = meter.close(1000);
    let cost = Duration::from_secs_f64(server.cpu_us_per_request.unwrap() / 1e6);
    assert_close("cost", cost * 1000, truth, 0.02, FLOOR);
}

#[test]
fn a_meter_started_by_its_target_is_excluded() {
    let parent = std::os::unix::process::parent_id();
    let tree = Tree::new(&[parent]).unwrap();
    assert!(tree.pids().contains(&parent) && !tree.pids().contains(&std::process::id()));
    // If named, it is metered.
    assert_eq!(Tree::new(&[std::process::id()]).unwrap().pids()[0], std::process::id());
}
