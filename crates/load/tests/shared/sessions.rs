//! Sessions and their slices.

use brunt_load::Options;
use brunt_load::session::Session;
use brunt_results::slice::{Measured, SliceSpec};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub fn order(lead: u64, window: u64, seed: u64) -> SliceSpec {
    SliceSpec { lead: Duration::from_millis(lead), window: Duration::from_millis(window), seed }
}

pub fn open(options: &Options) -> Session {
    Session::open(options, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error}"))
}

/// Makes a slice and checks what holds in every report.
pub fn slice(session: &mut Session, order: SliceSpec) -> Measured {
    let report = session.slice(order).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.window, order.window);
    assert!(report.busy >= order.lead + order.window, "{report:?}");
    assert!(report.completed <= report.replies);
    assert_eq!(report.service.is_some(), report.offered.is_some());
    assert_eq!(report.lag.is_some(), report.offered.is_some());
    report
}
