//! Counters of another process agree with its own clock and with the length of its loops.

use crate::shared::Actor;
use brunt_meter::counters::{Counters, Event};
use brunt_meter::process::Tree;
use brunt_testkit::alone;
use std::time::Duration;

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
    for order in ["burn 200", "threads 50"] {
        // The task clock includes steal time and interrupts, the child's clock does not: other load only adds. A missed
        // thread takes a quarter away, a thread counted twice adds one.
        let agrees = |_| match count(&mut actor, Event::TaskClock, order) {
            (Ok(nanos), truth) => {
                let share = nanos / truth.as_nanos() as f64;
                println!("{order}: {nanos} of {truth:?}");
                assert!(share >= 0.97, "{share}");
                share < 1.2
            }
            (Err(why), _) => {
                assert!(why.contains("forbid"), "{why}");
                true
            }
        };
        assert!((0..10).any(agrees), "{order}");
    }
    // The same for a child, with the time that its start takes.
    let agrees = |_| match count(&mut actor, Event::TaskClock, "child 100") {
        (Ok(nanos), _) => {
            println!("child 100: {nanos}");
            assert!(nanos >= 97e6, "{nanos}");
            nanos < 195e6
        }
        (Err(_), _) => true,
    };
    assert!((0..10).any(agrees), "child 100");
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
