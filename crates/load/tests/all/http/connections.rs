//! Lifetime of connections: until the server closes, for one request, or for a number of requests.

use crate::shared::{MS, run, web::*};
use brunt_load::{Options, http::Template};
use std::io::Read;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::{thread, time::Duration};

#[test]
fn without_keepalive_each_request_has_a_connection() {
    for http10 in [false, true] {
        let (address, seen) = web(|stream, _| say_last(stream, &ok("hello")));
        let template = Template { http10, ..template() };
        let result = run(&some(300, asks(address, &template, &[goal("/", 1)], 1, Some(1)))).result;
        assert_eq!((result.requests.completed, result.errors.total()), (300, 0), "{:?}", result.errors);
        // Requests in flight at the end have a socket too.
        assert!((300..=302).contains(&result.connections.opened), "{:?}", result.connections);
        assert_eq!(seen.connections_of(result.connections.opened), result.connections.opened);
        assert!(result.connections.peak <= 2);
        for request in seen.log.lock().unwrap().iter() {
            assert_eq!(request.number, 0);
            assert_eq!(request.head.contains("Connection: close"), !http10, "{}", request.head);
            assert!(!request.head.contains("keep-alive"), "{}", request.head);
        }
    }
}

#[test]
fn waiting_for_a_server_to_close_has_a_timeout() {
    let (address, seen) = web(|stream, _| say(stream, &ok("hello")));
    let result = run(&Options {
        duration: Duration::from_secs(1),
        ..short(asks(address, &template(), &[goal("/", 1)], 1, Some(1)))
    })
    .result;
    assert_eq!(result.errors.total(), 0, "{:?}", result.errors);
    // The wait for each of the two takes 0.2 s, or longer on a busy machine.
    assert!((1..=12).contains(&result.requests.completed), "{:?}", result.requests);
    assert!(seen.connections() >= result.requests.completed);
}

#[test]
fn reused_connections_are_replaced_and_their_last_request_asks_to_close() {
    for pipeline in [1, 5] {
        let (address, seen) =
            web(|stream, request| say(stream, &ok("hello")) && !request.head.contains("Connection: close"));
        let result = run(&some(400, asks(address, &template(), &[goal("/", 1)], pipeline, Some(20)))).result;
        assert_eq!((result.requests.completed, result.errors.total()), (400, 0), "{:?}", result.errors);
        assert!((20..=22).contains(&seen.connections()), "{seen:?}");
        for request in seen.log.lock().unwrap().iter() {
            assert_eq!(request.head.contains("Connection: close"), request.number == 19, "{request:?}");
        }
    }
}

#[test]
fn an_announced_close_loses_no_request() {
    let (address, seen) = web(|stream, request| match request.number {
        9 => say_last(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
        _ => say(stream, &ok("")),
    });
    let result = run(&some(500, get(address))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (500, 0), "{:?}", result.errors);
    assert!((50..=52).contains(&seen.connections()), "{seen:?}");
}

#[test]
fn closed_idle_connections_are_reopened_for_the_next_request_without_error() {
    // Connections on which another request was on its way when the server shut them down: those are lost.
    let lost = Arc::<AtomicU64>::default();
    let count = Arc::clone(&lost);
    let (address, seen) = web(move |stream, request| {
        say(stream, &ok(""));
        thread::sleep(MS);
        let goes_on = request.number < 2;
        if !goes_on {
            stream.shutdown(Shutdown::Write).unwrap();
            count.fetch_add(u64::from(matches!(stream.read(&mut [0]), Ok(1))), Relaxed);
        }
        goes_on
    });
    // Ten connections, each used every 100 ms: closed long before its next turn, except on a busy machine.
    let options =
        Options { rate: Some(100.0), connections: 10, duration: Duration::from_secs(1), ..short(get(address)) };
    let result = run(&options).result;
    let requests = &result.requests;
    assert_eq!(requests.completed + requests.failed + requests.unanswered, 100, "{requests:?}");
    assert_eq!((result.errors.total(), result.errors.reset), (requests.failed, requests.failed), "{:?}", result.errors);
    assert!(once(requests.failed, || lost.load(Relaxed)) >= requests.failed, "{requests:?}, {lost:?} lost");
    assert!(requests.completed > 30, "{requests:?}");
    assert_eq!(result.connections.opened, seen.connections_of(result.connections.opened));
    assert!(seen.connections() * 3 >= requests.completed, "{:?}", seen.connections);
    assert_eq!(result.requests.offered_rate, Some(100.0));
}

#[test]
fn connections_are_reopened_only_when_needed() {
    let (address, seen) = web(|stream, _| say_last(stream, &ok("")));
    let http = asks(address, &template(), &[goal("/", 1)], 1, Some(1));
    let result = run(&Options { rate: Some(50.0), connections: 4, ..short(http) }).result;
    let requests = &result.requests;
    assert_eq!((requests.completed + requests.unanswered, result.errors.total()), (20, 0), "{:?}", result.errors);
    // The first four were opened before the load. On a busy machine the last requests may be too late.
    assert!((requests.completed..=20).contains(&seen.connections_of(requests.completed)), "{:?}", seen.connections);
}
