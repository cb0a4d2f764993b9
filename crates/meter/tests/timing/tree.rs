//! CPU time of a process tree agrees with the clocks of its processes, also of those that ended.

use crate::shared::{Actor, assert_close};
use brunt_meter::process::{Tree, Usage, Window};
use brunt_testkit::{alone, until};
use std::time::Duration;

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
    let _turn = alone();
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
    let _turn = alone();
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
fn system_time_is_separate() {
    let _turn = alone();
    let (usage, truth) = usage_of("burn-system 300");
    assert_close("total", usage.cpu.total(), truth, 0.02, FLOOR);
    assert!(usage.cpu.system > usage.cpu.total().mul_f64(0.6), "{:?}", usage.cpu);
}

#[test]
fn threads_that_end_inside_the_window_are_counted() {
    let _turn = alone();
    let (usage, truth) = usage_of("threads 60");
    assert!(truth >= 240 * MS);
    assert_close("total", usage.cpu.total(), truth, 0.02, FLOOR);
}

#[test]
fn the_busiest_thread_is_reported() {
    let _turn = alone();
    let (usage, _) = usage_of("uneven 200");
    let busiest = usage.cpu.wall.mul_f64(usage.busiest_thread_percent.unwrap() / 100.0);
    assert_close("busiest thread", busiest, 200 * MS, 0.03, FLOOR);
    assert_close("total", usage.cpu.total(), 300 * MS, 0.05, FLOOR);
}

#[test]
fn children_that_ended_and_were_waited_for_are_counted() {
    let _turn = alone();
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
    let _turn = alone();
    let mut actor = Actor::start();
    actor.run("keep");
    actor.run("forward burn 200");
    actor.run("reply");
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let window = Window::open(&mut tree);
    assert_eq!(tree.pids().len(), 2);
    actor.run("forward quit");
    // Its parent waits for it at its own end; until then it is a zombie.
    until("the end of the child", || {
        tree.sample();
        tree.pids().len() == 1
    });
    let total = window.close(&mut tree).cpu.total();
    assert!(total < 150 * MS, "{total:?}");
}

#[test]
fn an_orphan_stays_in_the_tree_and_its_time_is_kept_when_init_reaps_it() {
    let _turn = alone();
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
    until("the burn", || sample(&mut tree) >= 95 * MS);
    // Its stdin is closed with the end of middle, so it ends after the burn.
    until("the end of the burner", || {
        sample(&mut tree);
        !tree.pids().contains(&burner)
    });
    let total = window.close(&mut tree).cpu.total();
    assert!(total >= 95 * MS && total < 190 * MS, "{total:?}");
}

#[test]
fn cost_per_request_is_cpu_time_divided() {
    let _turn = alone();
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
