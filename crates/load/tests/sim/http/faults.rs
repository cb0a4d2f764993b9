//! Faulty servers: each failure has its kind.

use crate::web::*;
use crate::worlds::{MS, Run, address, exact, run, times, values};
use brunt_load::Options;
use brunt_results::RunResult;
use brunt_runtime::net::{Any, Listener};
use brunt_runtime::{spawn, time};
use std::future::pending;

/// Attempts of a connection that fails at once, in a second: after 1, 2, 4 ... 256 ms.
const ATTEMPTS: u64 = 10;

/// All errors are of one kind, and none of them hides a request.
#[track_caller]
fn assert_all(result: &RunResult, kind: &str, completed: u64, failed: u64) {
    for (name, count) in result.errors.by_kind() {
        assert_eq!(count, if name == kind { failed } else { 0 }, "{name}: {:?}", result.errors);
    }
    assert_eq!((result.requests.completed, result.requests.failed), (completed, failed), "{:?}", result.requests);
}

#[test]
fn a_server_that_never_answers_times_out() {
    let options = Options { timeout: 100 * MS, ..second(get()) };
    let (Run { report, responses }, _) = told_on_web(&options, |_| Answer::default().hang());
    let result = report.result;
    // As for an echo: eight on each connection.
    assert_all(&result, "timeout", 0, 16);
    assert_eq!(values(&responses), values(&times(16, 100 * MS)));
    assert_eq!(result.responses.unwrap().statuses.len(), 0);
}

#[test]
fn a_server_that_stalls_within_a_reply_times_out_and_loses_the_whole_batch() {
    let options = Options { timeout: 100 * MS, ..second(gets(4, None)) };
    let (result, seen) = on_web(&options, |request| match request.number {
        0 => say(ok("first")),
        _ => say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nse").hang(),
    });
    // The first of each batch of four is answered; after a success, the next connection is opened a millisecond later.
    let batches = result.requests.completed;
    assert_all(&result, "timeout", batches, 3 * batches);
    assert_eq!((batches, result.requests.unanswered), (20, 0));
    assert_eq!(seen.connections.get(), batches);
}

#[test]
fn a_close_within_a_reply_truncates_it_and_before_one_is_a_reset() {
    for (half, kind) in [
        ("H", "truncated"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "truncated"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "truncated"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "truncated"),
        ("", "reset"),
    ] {
        let (result, seen) = on_web(&second(get()), move |_| say(half).close());
        assert_all(&result, kind, 0, 2 * ATTEMPTS);
        assert_eq!((result.connections.opened, seen.connections.get()), (2 * ATTEMPTS, 2 * ATTEMPTS));
    }
}

#[test]
fn a_reset_within_a_reply_is_a_reset() {
    let options = Options { connections: 1, ..some(60, get()) };
    // Without a byte of it, it is a close between two replies.
    for (part, kind) in [("HTTP/1.1 200 OK\r\nContent-", "reset"), ("", "closed")] {
        let (result, _) = on_web(&options, move |request| match request.number {
            5 => say(part).wait(MS).reset(),
            _ => say(ok("hello")),
        });
        assert_all(&result, kind, 50, 10);
        assert_eq!(result.connections.closed_after, (kind == "closed").then_some(5));
    }
}

#[test]
fn invalid_or_excess_bytes_are_protocol_errors() {
    for wrong in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    ] {
        let (result, _) = on_web(&second(get()), move |_| say(wrong));
        assert_all(&result, "protocol", 0, 2 * ATTEMPTS);
    }
}

#[test]
fn a_reply_before_its_request_is_a_protocol_error() {
    let options = Options { rate: Some(10.0), connections: 1, ..second(get()) };
    let (result, seen) = on_web(&options, |_| say(ok("")).wait(20 * MS).say(ok("guess")));
    // It ends an idle connection, and no request.
    assert_eq!((result.requests.completed, result.requests.failed), (10, 0));
    assert_eq!((result.errors.protocol, result.errors.total(), seen.connections.get()), (10, 10, 10));
}

#[test]
fn a_close_within_a_batch_loses_the_rest() {
    let (result, seen) = on_web(&some(160, gets(8, None)), |request| match request.number {
        2 => say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").close(),
        _ => say(ok("")),
    });
    // Three of eight are answered on every connection.
    assert_all(&result, "closed", 60, 100);
    assert_eq!(seen.connections.get(), 20);
}

/// Takes two connections, closes the listener, and 50 ms later the connections.
async fn goes_away() {
    let listener = Listener::<Any>::bind(&address().into()).unwrap();
    for _ in 0..2 {
        let stream = listener.accept().await.unwrap();
        spawn(async move {
            time::sleep(50 * MS).await;
            drop(stream);
        });
    }
    drop(listener);
    pending().await
}

#[test]
fn requests_without_a_listener_fail() {
    let result = run(&exact(1), &second(get()), goes_away()).report.result;
    assert_eq!((result.requests.completed, result.errors.reset), (0, 2));
    // Each tries again after 1, 2, 4 ... ms, and each time a request is lost.
    assert_eq!((result.errors.connect, result.requests.failed), (2 * (ATTEMPTS - 1), 2 * ATTEMPTS));
}
