//! Access logs at their own times: each request comes once, in the order of the log, when it is due.

use crate::targets::{handled, reply};
use crate::worlds::{LAG, Run, SECOND, US, WAY, address, exact, options, run};
use brunt_inputs::replay::{self, Replay};
use brunt_inputs::requests::Recorded;
use brunt_load::http::{Expect, Http, Pipeline, Rendered, RequestTarget, Requests, Sequence, Template};
use brunt_load::{Options, Target};
use brunt_runtime::time;
use brunt_serve::http::handler::{Factory, Handler, Request};
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The log as it is replayed.
fn read(log: &str, speed: f64) -> Replay {
    let home = brunt_testkit::home();
    let file = home.path().join("log");
    std::fs::write(&file, log).unwrap();
    let mut replay = replay::read(&file, speed).unwrap();
    replay.add_bodies(Some(b"hi".to_vec()));
    replay
}

/// The load of a log, over its whole length.
fn load(replay: &Replay, connections: usize, threads: usize) -> Options {
    let request = |recorded: &Recorded| {
        let (method, body) = (recorded.method.clone(), recorded.body.clone());
        let target = RequestTarget {
            host: "h".to_owned(),
            target: recorded.url.clone(),
            weight: 1,
            name: 0,
            authorization: None,
        };
        (Template { method, fields: Vec::new(), body, http10: false }, target)
    };
    let file = &replay.requests;
    let requests = file.requests.iter().map(request).collect();
    let sequence = Sequence { requests, order: file.order.clone().unwrap(), replay: true, origin: &|_| String::new() };
    let rendered = Rendered::sequence(sequence, None, Pipeline::NONE, None).unwrap();
    let http = Http::on(address(), Requests::Rendered(Arc::new(rendered)), None, Expect::default());
    Options {
        connections,
        threads: vec![None; threads],
        duration: replay.length,
        rate: Some(replay.rate(replay.length, Duration::ZERO).unwrap()),
        replay: Some(Arc::clone(&replay.times)),
        ..options(Target::Http(http))
    }
}

/// A request as a server saw it.
#[derive(Debug, Clone)]
struct Seen {
    at: Instant,
    line: String,
    body: Vec<u8>,
}

/// Runs the load, and returns what came.
fn seen(options: &Options) -> (Run, Vec<Seen>) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&all);
    let handlers = Factory::new(move || {
        let kept = Arc::clone(&kept);
        let see = move |request: &Request<'_>| {
            let line = format!("{} {}?{}", request.method, request.path, request.query);
            kept.lock().unwrap().push(Seen { at: time::now(), line, body: request.body.to_vec() });
            reply()
        };
        Box::new(see) as Box<dyn Handler>
    });
    let run = run(&exact(), options, handled(handlers, 1)).unwrap();
    let seen = all.lock().unwrap().clone();
    (run, seen)
}

/// A log of three seconds with 40, 10 and 20 requests in the combined format, and lines that are none.
fn log() -> String {
    let mut log = String::new();
    for (second, count) in [(6, 40), (7, 10), (8, 20)] {
        for number in 0..count {
            let method = if number % 5 == 4 { "POST" } else { "GET" };
            let _ = writeln!(
                log,
                "192.0.2.7 - - [10/Oct/2026:13:55:{second:02} +0200] \"{method} /s{second}/{number}?q HTTP/1.1\" 200 12 \"-\" \"Mozilla/5.0\""
            );
        }
        log += "192.0.2.7 - - [10/Oct/2026:13:55:06 +0200] \"\\x16\\x03\\x01\" 400 150 \"-\" \"-\"\n";
    }
    log
}

#[test]
fn requests_of_a_second_are_spread_over_it_and_come_when_they_are_due() {
    for (speed, threads) in [(1, 1), (2, 1), (2, 2)] {
        let replay = read(&log(), f64::from(speed));
        assert_eq!((replay.length, replay.requests.notes.len()), (3 * SECOND / speed, 1));
        let (Run { report, responses, .. }, seen) = seen(&load(&replay, 8, threads));
        let result = report.result;
        assert_eq!(
            (result.load.measured_s, result.load.arrival.as_deref()),
            (3.0 / f64::from(speed), Some("recorded"))
        );
        assert_eq!((result.requests.completed, result.errors.total(), responses.len()), (70, 0, 70));
        let mut due = Vec::new();
        for (second, count) in [(6, 40), (7, 10), (8, 20)] {
            let at = |number: u32| ((second - 6) * SECOND + SECOND * number / count) / speed;
            due.extend((0..count).map(|number| (at(number), format!("/s{second}/{number}?q"))));
        }
        let lines: Vec<&str> = seen.iter().map(|one| one.line.split_once(' ').unwrap().1).collect();
        assert_eq!(lines, due.iter().map(|one| one.1.as_str()).collect::<Vec<_>>(), "speed {speed}");
        for (one, (at, _)) in seen.iter().zip(&due) {
            // A dispatcher that has not learnt wakes up to two turns late.
            let since = one.at - seen[0].at;
            assert!(since.abs_diff(*at) <= 3 * US, "{one:?}: {since:?}, not {at:?}");
        }
        assert!(responses.max() <= (LAG + WAY + 6 * US).as_nanos() as u64, "{:?}", responses.max());
        let posts = seen.iter().filter(|one| one.line.starts_with("POST ")).count();
        assert_eq!(posts, 8 + 2 + 4);
        assert!(seen.iter().all(|one| one.body == if one.line.starts_with("POST ") { b"hi".to_vec() } else { vec![] }));
    }
}

#[test]
fn one_connection_has_the_requests_in_the_order_of_the_log() {
    let lines = (0..200).rev().map(|number| {
        let (second, part) = (1_700_000_000 + number / 100, number % 100 * 10);
        format!("{{\"ts\": {second}.{part:03}, \"method\": \"PUT\", \"path\": \"/{number}\"}}\n")
    });
    // The file need not be sorted.
    let replay = read(&lines.collect::<String>(), 4.0);
    let (Run { report, .. }, seen) = seen(&load(&replay, 1, 1));
    assert_eq!((report.result.requests.completed, report.result.requests.unanswered), (200, 0));
    let came: Vec<&str> = seen.iter().map(|one| one.line.as_str()).collect();
    assert_eq!(came, (0..200).map(|number| format!("PUT /{number}?")).collect::<Vec<_>>());
    for (number, one) in seen.iter().enumerate() {
        let due = Duration::from_micros(2500) * number as u32;
        assert!((one.at - seen[0].at).abs_diff(due) <= 3 * US && one.body == b"hi", "{number}: {one:?}");
    }
}
