//! Sessions over HTTP: connections for one request, pipelines, closed idle connections, scripts.

use crate::shared::web::*;
use brunt_load::http::{Batch, Flow, Http, Pipeline, Requests, Script, Source};
use brunt_load::session::Session;
use brunt_load::{LoadError, Options};
use brunt_results::slice::{Measured, SliceSpec};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

fn open(options: &Options) -> Session {
    Session::open(options, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error}"))
}

fn order(seed: u64) -> SliceSpec {
    SliceSpec { lead: Duration::from_millis(10), window: Duration::from_millis(50), seed }
}

/// Makes five slices without an error.
fn five(session: &mut Session, pause: Duration) -> Vec<Measured> {
    let mut reports = Vec::new();
    for seed in 0..5 {
        let report = session.slice(order(seed)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((report.failed, report.errors.total()), (0, 0), "{:?}", report.errors);
        // A busy machine may take a whole slice.
        let statuses = Vec::from_iter((report.completed > 0).then_some((200, report.completed)));
        assert_eq!(report.statuses, statuses);
        if let Some(offered) = report.offered {
            assert_eq!(report.response.len(), offered);
        }
        reports.push(report);
        thread::sleep(pause);
    }
    assert!(reports.iter().any(|report| report.completed > 0 && report.received_bytes > 0));
    reports
}

#[test]
fn loads_of_every_shape_come_in_slices() {
    let one = |address| asks(address, &template(), &[goal("/", 1)], 1, Some(1));
    let batches = |address| asks(address, &template(), &[goal("/", 1)], 4, None);
    let deep = |address| asks_as(address, &template(), &[goal("/", 1)], Pipeline::Single(4), None);
    type Make = fn(std::net::SocketAddr) -> Http;
    let cases: [(Make, Option<f64>, bool); 6] = [
        (get, None, true),
        (get, Some(1000.0), true),
        (batches, None, true),
        (deep, Some(1000.0), true),
        (one, None, false),
        (one, Some(500.0), false),
    ];
    for (make, rate, persist) in cases {
        let (address, seen) =
            web(move |stream, request| say(stream, &ok("hello")) && !request.head.contains("Connection: close"));
        let mut session = open(&Options { rate, ..short(make(address)) });
        let reports = five(&mut session, Duration::ZERO);
        let replies: u64 = reports.iter().map(|report| report.replies).sum();
        assert_eq!(seen.requests(), replies, "each slice ends with no request in flight");
        let opened = reports[4].connections.opened;
        match persist {
            true => assert_eq!((opened, seen.connections()), (2, 2)),
            false => assert!((replies..=replies + 2).contains(&opened), "{opened} for {replies}"),
        }
    }
}

#[test]
fn connections_that_the_target_closes_between_slices_are_opened_again() {
    for rate in [None, Some(200.0)] {
        let (address, seen) = web(|stream, _| {
            stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            say(stream, &ok("hello"))
        });
        let mut session = open(&Options { rate, ..short(get(address)) });
        five(&mut session, Duration::from_millis(800));
        assert_eq!(seen.connections(), 10, "two for each of five slices");
    }
}

/// Fails at a number of requests.
struct Failing(u64);

impl Source for Failing {
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Batch, String> {
        self.0 = self.0.checked_sub(1).ok_or("script.lua:7: no more ideas")?;
        out.extend_from_slice(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        Ok(Batch::of("GET"))
    }

    fn wants_responses(&self) -> bool {
        false
    }

    fn response(&mut self, _: u16, _: &[(&str, &[u8])], _: &[u8]) -> Flow {
        Flow::Continue
    }

    fn delay(&mut self) -> Option<Duration> {
        None
    }
}

#[test]
fn an_error_of_a_script_ends_its_slice_and_those_behind_it() {
    let (address, _) = web(|stream, _| say(stream, &ok("hello")));
    let requests = Requests::Script(Script::new(|_| Ok(Box::new(Failing(200)))));
    let http = Http::on(address, requests, None, Default::default());
    let mut session = open(&Options { rate: Some(1000.0), ..short(http) });
    assert!((1..=60).contains(&session.slice(order(1)).unwrap().replies));
    let reason = |result: Result<_, LoadError>| match result {
        Err(LoadError::Script(reason)) => reason,
        other => panic!("{other:?}"),
    };
    let long = SliceSpec { window: Duration::from_millis(500), ..order(2) };
    for order in [long, order(3)] {
        assert_eq!(reason(session.slice(order)), "script.lua:7: no more ideas");
    }
}
