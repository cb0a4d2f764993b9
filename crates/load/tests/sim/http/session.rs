//! Sessions over HTTP: connections for one request, pipelines, closed idle connections, scripts.

use super::script::failing_after;
use crate::sessions::{open, order, slice};
use crate::web::*;
use crate::worlds::{MS, beside, exact};
use brunt_load::{LoadError, Options, http::Http};
use brunt_results::slice::Measured;
use brunt_runtime::time;
use std::{rc::Rc, time::Duration};

/// Five slices with a pause behind each, none with an error, and what the server has seen.
fn five(
    options: &Options,
    pause: Duration,
    answer: impl Fn(&Request) -> Answer + 'static,
) -> (Vec<Measured>, Rc<Seen>) {
    let seen = Rc::<Seen>::default();
    let reports = beside(&exact(1), web(0, seen.clone(), answer), async {
        let mut session = open(options).await;
        let mut reports = Vec::new();
        for seed in 0..5 {
            let report = slice(&mut session, order(10, 50, seed)).await;
            assert_eq!((report.failed, report.errors.total()), (0, 0), "{:?}", report.errors);
            assert_eq!(report.statuses, [(200, report.completed)]);
            assert_eq!(report.offered.unwrap_or(report.response.len()), report.response.len());
            reports.push(report);
            time::sleep(pause).await;
        }
        reports
    });
    (reports, seen)
}

#[test]
fn loads_of_every_shape_come_in_slices() {
    let cases: [(Http, Option<f64>, bool); 6] = [
        (get(), None, true),
        (get(), Some(1000.0), true),
        (gets(4, None), None, true),
        (singly(4, None), Some(1000.0), true),
        (gets(1, Some(1)), None, false),
        (gets(1, Some(1)), Some(500.0), false),
    ];
    for (http, rate, persist) in cases {
        let options = Options { rate, ..second(http) };
        let (reports, seen) =
            five(&options, Duration::ZERO, |request| match request.head.contains("Connection: close") {
                true => say(ok("hello")).close(),
                false => say(ok("hello")),
            });
        let replies: u64 = reports.iter().map(|report| report.replies).sum();
        assert_eq!(seen.requests(), replies, "each slice ends with no request in flight");
        let offered = rate.map(|rate| rate as u64 / 20);
        assert!(reports.iter().all(|report| report.offered == offered), "{rate:?}");
        // A connection for one request is opened when it is needed; those opened first are used too.
        let opened = if persist { 2 } else { replies };
        assert_eq!((reports[4].connections.opened, seen.connections.get()), (opened, opened));
    }
}

#[test]
fn connections_that_the_target_closes_between_slices_are_opened_again() {
    for rate in [None, Some(200.0)] {
        let options = Options { rate, ..second(get()) };
        let seen = Rc::<Seen>::default();
        let impatient = idle_for(500 * MS, seen.clone());
        beside(&exact(1), impatient, async {
            let mut session = open(&options).await;
            for seed in 0..5 {
                let report = slice(&mut session, order(10, 50, seed)).await;
                assert_eq!((report.failed, report.errors.total()), (0, 0), "{:?}", report.errors);
                time::sleep(800 * MS).await;
            }
        });
        assert_eq!(seen.connections.get(), 10, "two for each of five slices");
    }
}

#[test]
fn an_error_of_a_script_ends_its_slice_and_those_behind_it() {
    let options = Options { rate: Some(1000.0), ..second(failing_after(200)) };
    beside(&exact(1), web(0, Rc::default(), |_| say(ok("hello"))), async {
        let mut session = open(&options).await;
        // 60 requests in lead and window.
        assert_eq!(slice(&mut session, order(10, 50, 1)).await.replies, 60);
        for order in [order(10, 500, 2), order(10, 50, 3)] {
            match session.slice_in_world(order).await {
                Err(LoadError::Script(reason)) => assert_eq!(reason, "script.lua:7: no more ideas"),
                other => panic!("{other:?}"),
            }
        }
    });
}
