//! Pipelines of open loops: several requests on a connection, each with times of its own.

use crate::shared::{run, web::*};
use brunt_load::Options;
use brunt_load::http::{Http, Pipeline, Template};
use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn singly(address: SocketAddr, depth: u32, reuse: Option<u64>) -> Http {
    asks_as(address, &template(), &[goal("/", 1)], Pipeline::Single(depth), reuse)
}

/// A number of requests at 400 per second on one connection.
fn paced(requests: u64, http: Http) -> Options {
    Options { rate: Some(400.0), connections: 1, ..some(requests, http) }
}

/// Answers `depth` requests at a time.
fn hoarder(depth: u64) -> SocketAddr {
    let (address, _) = web(move |stream, request| match (request.number + 1) % depth {
        0 => say(stream, &ok("hello").repeat(depth as usize)),
        _ => true,
    });
    address
}

#[test]
fn a_pipeline_is_filled_and_each_request_is_answered() {
    let result = run(&paced(120, singly(hoarder(4), 4, None))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (120, 0), "{:?}", result.errors);
    assert_eq!(result.connections.opened, 1);
    // The first of four waits for the last, which is due 7.5 ms later.
    let response = &result.latency.response;
    assert!(response.max_us.unwrap() >= 7_400.0, "{response:?}");
}

#[test]
fn a_pipeline_has_no_more_requests_than_its_depth() {
    let (address, seen) = web(|_, _| true);
    let options = Options { connections: 2, timeout: Duration::from_secs(5), ..paced(1000, singly(address, 4, None)) };
    let result = run(&Options { duration: Duration::from_millis(400), requests: None, ..options }).result;
    assert!((1..=8).contains(&seen.requests()), "{seen:?}");
    assert_eq!((result.requests.completed, result.errors.total()), (0, 0));
    assert_eq!(result.requests.unanswered, 160, "those without room are unanswered too");
}

#[test]
fn replies_to_head_are_matched_and_urls_take_turns() {
    let (address, seen) = web(|stream, _| say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"));
    let template = Template { method: "HEAD".to_owned(), ..template() };
    let targets = [goal("/a", 3), goal("/b", 1)];
    let result = run(&paced(200, asks_as(address, &template, &targets, Pipeline::Single(8), None))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (200, 0), "{:?}", result.errors);
    let log = seen.log.lock().unwrap();
    assert_eq!(log.iter().take(200).filter(|request| request.target() == "/b").count(), 50);
}

#[test]
fn requests_wait_for_capacity() {
    let reads = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&reads);
    let address = crate::shared::target(move |mut stream| {
        let mut buffer = [0; 1 << 16];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            let requests = String::from_utf8_lossy(&buffer[..length]).matches("\r\n\r\n").count();
            log.lock().unwrap().push(requests);
            // Longer than sixteen gaps.
            thread::sleep(Duration::from_millis(50));
            if !say(&mut stream, &ok("hello").repeat(requests)) {
                return;
            }
        }
    });
    let result = run(&paced(200, singly(address, 16, None))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (200, 0), "{:?}", result.errors);
    assert!(result.requests.waited.unwrap() > 0);
    let reads = reads.lock().unwrap();
    // The kernel decides about the pieces, the generator about the depth.
    assert!((2..=16).contains(reads.iter().max().unwrap()), "{reads:?}");
}

#[test]
fn connections_are_replaced_after_their_number_of_requests_without_loss() {
    let (address, seen) = web(|stream, request| say(stream, &ok("")) && !request.head.contains("Connection: close"));
    let options = Options { rate: Some(2000.0), connections: 2, ..paced(400, singly(address, 4, Some(10))) };
    let result = run(&options).result;
    assert_eq!((result.requests.completed, result.errors.total()), (400, 0), "{:?}", result.errors);
    assert!((40..=42).contains(&seen.connections_of(40)), "{seen:?}");
    for request in seen.log.lock().unwrap().iter() {
        assert!(request.number < 10);
        assert_eq!(request.head.contains("Connection: close"), request.number == 9, "{request:?}");
    }
}

#[test]
fn a_lost_connection_loses_exactly_its_requests_in_flight() {
    let (address, seen) = web(|stream, request| match request.number {
        5 => false,
        _ => say(stream, &ok("")),
    });
    let result = run(&paced(150, singly(address, 4, None))).result;
    // Each connection has five replies and loses the requests in flight at its end.
    let (done, failed) = (result.requests.completed, result.requests.failed);
    assert_eq!((done + failed, result.errors.total()), (150, result.errors.reset), "{:?}", result.errors);
    assert!(failed + 1 >= done / 5 && failed <= result.connections.opened * 4, "{failed} of {seen:?}");
}

#[test]
fn a_reply_without_a_request_is_an_error_in_a_pipeline() {
    let (address, _) = web(|stream, _| say(stream, &ok("").repeat(5)));
    let options =
        Options { duration: Duration::from_millis(400), requests: None, ..paced(1, singly(address, 4, None)) };
    let result = run(&options).result;
    assert!(result.errors.protocol > 0, "{:?}", result.errors);
    assert_eq!(result.errors.total(), result.errors.protocol, "{:?}", result.errors);
}

#[test]
fn kinds_of_pipelines_need_their_kind_of_loop() {
    let (address, _) = web(|stream, _| say(stream, &ok("")));
    let batches = Options { rate: Some(100.0), ..short(asks(address, &template(), &[goal("/", 1)], 2, None)) };
    for (options, needle) in [(batches, "one write"), (short(singly(address, 2, None)), "-R")] {
        let error = brunt_load::run(&options, &mut brunt_load::Silent).unwrap_err().to_string();
        assert!(error.contains(needle) && !error.contains('\n'), "{error}");
    }
}
