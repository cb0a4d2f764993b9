//! One load of each kind on threads: phases, threads, CPU time, counts. What a load reports of a target is in `sim`.

use crate::shared::*;
use brunt_load::session::Session;
use brunt_load::{Observer, Options};
use brunt_results::slice::SliceSpec;
use brunt_testkit::until;
use std::sync::atomic::AtomicBool;
use std::thread::{self, ThreadId};

/// Calls of an observer, with their threads.
#[derive(Default)]
struct Notes(Vec<(&'static str, ThreadId)>);

impl Notes {
    fn note(&mut self, call: &'static str) {
        self.0.push((call, thread::current().id()));
    }
}

impl Observer for Notes {
    fn started(&mut self, threads: &[u32]) {
        assert_eq!(threads.len(), 2);
        for tid in threads {
            let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap();
            assert!(name.starts_with("load-"), "{name}");
        }
        self.note("started");
    }
    fn window_opened(&mut self) {
        self.note("opened");
    }
    fn window_closed(&mut self) {
        self.note("closed");
    }
}

#[test]
fn a_load_of_each_loop_and_family_has_its_requests_and_calls_its_observer() {
    for protocol in PROTOCOLS {
        for rate in [None, Some(2000.0)] {
            let target = target_on(protocol, echo);
            let load =
                Options { rate, requests: Some(500), duration: LIMIT, threads: vec![None, None], ..options(target) };
            let mut notes = Notes::default();
            let report = brunt_load::run(&load, &mut notes).unwrap();
            result_is_consistent(&load, &report);
            let result = report.result;
            assert_eq!((result.requests.completed, result.errors.total()), (500, 0), "{:?}", result.errors);
            let here = thread::current().id();
            assert_eq!(notes.0, ["started", "opened", "closed"].map(|call| (call, here)));
        }
    }
}

#[test]
fn a_session_makes_slices_on_its_threads() {
    let load = Options { threads: vec![None, None], ..options(target(echo)) };
    let mut session = Session::open(&load, &AtomicBool::new(false)).unwrap();
    assert_eq!(session.threads().len(), 2);
    let mut seed = 0;
    // A busy machine may take a whole slice.
    until("a slice has replies", || {
        seed += 1;
        let report = session.slice(SliceSpec { lead: 5 * MS, window: 50 * MS, seed }).unwrap();
        assert_eq!((report.window, report.failed, report.connections.opened), (50 * MS, 0, 2), "{:?}", report.errors);
        assert!(!report.cpu.is_zero(), "{report:?}");
        report.completed > 0
    });
}
