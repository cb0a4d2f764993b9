//! Counters of another process agree with its own clock and with the length of its loops.

use crate::shared::Actor;
use brunt_meter::counters::{Counters, Event};
use brunt_meter::process::Tree;
use brunt_testkit::alone;
use std::time::{Duration, Instant};

/// The figure of an order, and the CPU time that the actor says it took.
fn count(actor: &mut Actor, event: Event, order: &str) -> (Result<f64, String>, Duration) {
    let mut tree = Tree::new(&[actor.pid()]).unwrap();
    let mut counters = Counters::attach_tree(&mut tree, &[event]);
    let first = counters.read();
    let truth = actor.run(order);
    (counters.read().since(&first, event), truth)
}

/// Tests attachment, inheritance and sums with a software counter, which needs no hardware.
#[test]
fn threads_and_processes_created_after_the_attachment_are_counted() {
    let _turn = alone();
    let mut actor = Actor::start();
    // One thread runs at a time, but for the first one while another starts. So the task clock, which contains steal time and
    // interrupts, is no less than the clock of the actor or child, and no more than the time that passes and that of the first
    // thread. A missed thread takes a quarter away, one that is counted twice adds as much.
    for order in ["threads 50", "child 200"] {
        let (begun, before) = (Instant::now(), actor.run("cpu-thread"));
        let (nanos, truth) = count(&mut actor, Event::TaskClock, order);
        let first_thread = actor.run("cpu-thread") - before;
        let most = begun.elapsed() + first_thread;
        match nanos.map(|nanos| Duration::from_nanos(nanos as u64)) {
            Ok(clock) => {
                println!("{order}: {clock:?} of {truth:?}, at most {most:?}");
                assert!(clock >= truth.mul_f64(0.97) && clock <= most, "{order}: {clock:?}, not {truth:?} to {most:?}");
            }
            Err(why) => assert!(why.contains("forbid"), "{why}"),
        }
    }
}

#[test]
fn instructions_follow_the_length_of_a_loop() {
    let _turn = alone();
    let mut actor = Actor::start();
    let (once, _) = count(&mut actor, Event::InstructionsUser, "count 20000000");
    let (twice, _) = count(&mut actor, Event::InstructionsUser, "count 40000000");
    match (once, twice) {
        (Ok(once), Ok(twice)) => {
            let ratio = twice / once;
            assert!((1.95..2.05).contains(&ratio), "{once} and {twice}");
            // An iteration takes at least three instructions: add, compare, branch.
            assert!((40e6..600e6).contains(&once), "{once}");
        }
        (once, twice) => {
            let why = once.and(twice).unwrap_err();
            let has_pmu = ["cpu", "cpu_core", "armv8_pmuv3_0"]
                .iter()
                .any(|pmu| std::path::Path::new("/sys/bus/event_source/devices").join(pmu).exists());
            assert!(why.contains("forbidden") || why.contains("sandbox") || !has_pmu, "{why}");
            assert!(why.len() > 20, "{why}");
        }
    }
}
