//! How long connections live: as long as the server lets them, for one request, or for so many.

use crate::{
    common::{MS, run},
    web::*,
};
use brunt_load::{Options, http::Template};
use std::{thread, time::Duration};

#[test]
fn one_connection_a_request_uses_as_many_sockets_as_requests_and_says_so() {
    for http10 in [false, true] {
        let (address, seen) = web(|stream, _| say_last(stream, &ok("hello")));
        let template = Template { http10, ..template() };
        let result = run(&some(300, asks(address, &template, &[goal("/", 1)], 1, Some(1)))).result;
        assert_eq!((result.requests.completed, result.errors.total()), (300, 0), "{:?}", result.errors);
        // What was under way at the end has a socket too.
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
fn a_server_that_does_not_close_when_asked_is_not_waited_for_for_ever() {
    let (address, seen) = web(|stream, _| say(stream, &ok("hello")));
    let result = run(&Options {
        duration: Duration::from_secs(1),
        ..short(asks(address, &template(), &[goal("/", 1)], 1, Some(1)))
    })
    .result;
    assert_eq!(result.errors.total(), 0, "{:?}", result.errors);
    // Each of the two is waited for 0.2 s; on a busy machine fewer of them fit into a second.
    assert!((1..=12).contains(&result.requests.completed), "{:?}", result.requests);
    assert!(seen.connections() >= result.requests.completed);
}

#[test]
fn connections_are_replaced_after_so_many_requests_and_the_last_one_says_so() {
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
fn a_server_that_says_it_closes_costs_no_request() {
    let (address, seen) = web(|stream, request| match request.number {
        9 => say_last(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
        _ => say(stream, &ok("")),
    });
    let result = run(&some(500, get(address))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (500, 0), "{:?}", result.errors);
    assert!((50..=52).contains(&seen.connections()), "{seen:?}");
}

#[test]
fn idle_connections_that_the_server_closes_are_no_error_and_come_back_with_the_next_request() {
    let (address, seen) = web(|stream, request| {
        say(stream, &ok(""));
        thread::sleep(MS);
        request.number < 2
    });
    // Ten connections, each used every 100 ms: closed long before its next turn.
    let options =
        Options { rate: Some(100.0), connections: 10, duration: Duration::from_secs(1), ..short(get(address)) };
    let result = run(&options).result;
    // A busy machine may send one or the other into a connection that is just being closed, or answer it too late. If losing
    // an idle connection were an error, there would be thirty.
    let requests = &result.requests;
    assert_eq!(requests.completed + requests.failed + requests.unanswered, 100, "{requests:?}");
    assert!(requests.completed >= 80 && result.errors.total() <= 10, "{requests:?}, {:?}", result.errors);
    assert!(seen.connections() > 20, "{:?}", seen.connections);
    assert_eq!(result.connections.opened, seen.connections_of(result.connections.opened));
    assert_eq!(result.requests.offered_rate, Some(100.0));
}

#[test]
fn sockets_are_not_opened_before_they_are_needed() {
    let (address, seen) = web(|stream, _| say_last(stream, &ok("")));
    let http = asks(address, &template(), &[goal("/", 1)], 1, Some(1));
    let result = run(&Options { rate: Some(50.0), connections: 4, ..short(http) }).result;
    let requests = &result.requests;
    assert_eq!((requests.completed + requests.unanswered, result.errors.total()), (20, 0), "{:?}", result.errors);
    // The first four were opened to see whether there is a server. The last requests may be too late on a busy machine.
    assert!((requests.completed..=20).contains(&seen.connections_of(requests.completed)), "{:?}", seen.connections);
}
