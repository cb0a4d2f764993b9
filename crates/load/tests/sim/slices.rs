//! Slices of sessions have exactly the requests and times that follow from their targets.

use crate::targets::echo_after;
use crate::worlds::{LAG, MS, US, WAY, exact, open, options, times, values};
use brunt_load::{Options, Session};
use brunt_results::slice::{Measured, SliceSpec};
use brunt_runtime::{Builder, time};
use std::{sync::atomic::AtomicBool, time::Duration};

/// Slices of 100 ms after a lead of 25 ms, with a second between them.
fn slices(options: &Options, count: u64) -> Vec<Measured> {
    let world = exact(1);
    world.spawn_worker(&Builder::default(), echo_after(75 * US)).unwrap();
    let run = async {
        let mut session = Session::open_in_world(options, &AtomicBool::new(false)).await.unwrap();
        let mut slices = Vec::new();
        for seed in 0..count {
            let spec = SliceSpec { lead: 25 * MS, window: 100 * MS, seed };
            slices.push(session.slice_in_world(spec).await.unwrap());
            time::sleep(Duration::from_secs(1)).await;
        }
        slices
    };
    world.run(run).unwrap()
}

#[test]
fn slices_of_a_closed_loop_are_equal() {
    let each = 76 * US + WAY;
    for slice in slices(&Options { connections: 4, ..options() }, 5) {
        let ends_by = |at: Duration| 4 * ((at.as_nanos() - 1) / each.as_nanos()) as u64;
        assert_eq!((slice.failed, slice.errors.total(), slice.connections.opened), (0, 0, 4));
        assert_eq!((slice.completed, slice.unanswered), (ends_by(125 * MS) - ends_by(25 * MS), 4));
        assert_eq!(values(&slice.response), values(&times(slice.completed, each)));
    }
}

#[test]
fn slices_of_an_open_loop_have_the_requests_that_are_due() {
    let slices = slices(&open(1000.0, 4, 1), 40);
    for slice in &slices {
        assert_eq!((slice.offered, slice.completed, slice.failed, slice.unanswered), (Some(100), 100, 0, 0));
    }
    // The dispatcher keeps what it has learnt.
    let last = slices.last().unwrap();
    assert_eq!(values(&last.response), values(&times(100, LAG + 76 * US + WAY)));
    assert_eq!(values(last.lag.as_ref().unwrap()), values(&times(100, LAG)));
}
