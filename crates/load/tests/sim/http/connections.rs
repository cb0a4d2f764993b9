//! Lifetime of connections: until the server closes, for one request, or for a number of requests.

use crate::web::*;
use crate::worlds::{MS, Run, turns};
use brunt_load::{Options, http::Pipeline, http::Template};
use std::cell::Cell;

#[test]
fn without_keepalive_each_request_has_a_connection() {
    for http10 in [false, true] {
        let template = Template { http10, ..template() };
        let http = asks(&template, &[goal("/", 1)], Pipeline::NONE, Some(1));
        let (result, seen) = on_web(&some(300, http), |_| say(ok("hello")).close());
        assert_good(&result, 300);
        assert_eq!((result.connections.opened, seen.connections.get()), (300, 300));
        assert_eq!(result.connections.peak, 2);
        for request in &*seen.log.borrow() {
            assert_eq!(request.number, 0);
            assert_eq!(request.head.contains("Connection: close"), !http10, "{}", request.head);
            assert!(!request.head.contains("keep-alive"), "{}", request.head);
        }
    }
}

#[test]
fn a_server_that_does_not_close_is_waited_for_twice() {
    let (result, seen) = on_web(&second(gets(1, Some(1))), |_| say(ok("hello")));
    // Each of the two waits 0.2 s before it replaces its first connection, and no more.
    let (before, all) = (2, result.requests.completed);
    assert_good(&result, all);
    let each_us = result.latency.response.max_us.unwrap();
    let possible = before as f64 + 2.0 * 0.8e6 / each_us;
    assert!(all as f64 > 0.9 * possible, "{all} of {possible}");
    let kept_open = result.connections.kept_open.unwrap();
    assert!((all - 2..=all + 2).contains(&kept_open) && seen.connections.get() >= all, "{:?}", result.connections);
}

#[test]
fn reused_connections_are_replaced_and_their_last_request_asks_to_close() {
    for pipeline in [1, 5] {
        let (result, seen) =
            on_web(&some(400, gets(pipeline, Some(20))), |request| match request.head.contains("Connection: close") {
                true => say(ok("hello")).close(),
                false => say(ok("hello")),
            });
        assert_good(&result, 400);
        assert_eq!(seen.connections.get(), 20);
        for request in &*seen.log.borrow() {
            assert_eq!(request.head.contains("Connection: close"), request.number == 19, "{request:?}");
        }
    }
}

#[test]
fn an_announced_close_loses_no_request() {
    let (result, seen) = on_web(&some(500, get()), |request| match request.number {
        9 => say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").close(),
        _ => say(ok("")),
    });
    assert_good(&result, 500);
    assert_eq!(seen.connections.get(), 50);
}

#[test]
fn closed_idle_connections_are_reopened_for_the_next_request_without_error() {
    // Ten connections, each used every 100 ms: closed long before its next turn.
    let options = Options { rate: Some(100.0), connections: 10, direct: turns(), ..second(get()) };
    let (result, seen) = on_web(&options, |request| match request.number {
        2 => say(ok("")).wait(MS).close(),
        _ => say(ok("")),
    });
    assert_good(&result, 100);
    // Three requests on each connection but the last one of each of the ten.
    assert_eq!((result.connections.opened, seen.connections.get()), (40, 40));
    assert_eq!((result.requests.offered_rate, result.requests.waited), (Some(100.0), Some(0)));
}

#[test]
fn connections_are_reopened_only_when_needed() {
    let options = Options { rate: Some(50.0), connections: 4, ..second(gets(1, Some(1))) };
    let (Run { report, .. }, seen) = told_on_web(&options, |_| say(ok("")).close());
    assert_good(&report.result, 50);
    // The first four were opened before the load.
    assert_eq!((report.result.connections.opened, seen.connections.get()), (50, 50));
}

/// Where every request of some number is the one that is lost, the others go on: that is no number of replies a connection.
#[test]
fn a_number_of_replies_after_which_some_connections_close_is_not_that_of_all() {
    let mut known = 0;
    for every in 3..20 {
        let count = Cell::new(0);
        let (result, _) = on_web(&some(400, get()), move |_| {
            count.set(count.get() + 1);
            if count.get() % every == 0 { say("").close() } else { say(ok("")) }
        });
        assert!(result.errors.closed > 0, "{:?}", result.errors);
        known += u32::from(result.connections.closed_after.is_some());
    }
    assert_eq!(known, 0);
    let (result, _) =
        on_web(&some(400, get()), |request| if request.number == 7 { say("").close() } else { say(ok("")) });
    assert_eq!(result.connections.closed_after, Some(7));
}
