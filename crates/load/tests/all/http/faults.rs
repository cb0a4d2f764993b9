//! Faulty servers: each failure has its kind, and the run ends on time.

use crate::shared::{LIMIT, MS, run, target, web::*};
use brunt_load::Options;
use brunt_results::RunResult;
use rustix::net::sockopt::set_socket_linger;
use std::thread;
use std::time::{Duration, Instant};

/// Runs a load and checks that it took no longer than its window, one timeout and a margin.
fn run_on_time(options: &Options) -> RunResult {
    let start = Instant::now();
    let result = run(options).result;
    let took = start.elapsed();
    assert!(took < options.duration + options.timeout.min(Duration::from_secs(1)) + LIMIT, "took {took:?}");
    result
}

/// All errors are of one kind, and none of them hides a request.
#[track_caller]
fn assert_all(result: &RunResult, kind: &str, at_least: u64) {
    for (name, count) in result.errors.by_kind() {
        let expected = if name == kind { result.requests.failed } else { 0 };
        assert_eq!(count, expected, "{name}: {:?}", result.errors);
    }
    assert!(result.requests.failed >= at_least, "{:?}", result.requests);
}

#[test]
fn a_server_that_never_answers_times_out() {
    let (address, _) = web(|_, _| {
        thread::sleep(Duration::from_secs(3600));
        false
    });
    let result = run_on_time(&impatient(get(address)));
    assert_all(&result, "timeout", 2);
    assert_eq!(result.requests.completed, 0);
    let max = result.latency.error.max_us.unwrap();
    assert!((max / 100_000.0 - 1.0).abs() < 0.002, "{max}");
    assert_eq!(result.responses.unwrap().statuses.len(), 0);
}

#[test]
fn a_server_that_stalls_within_a_reply_times_out_and_loses_the_whole_batch() {
    let (address, _) = web(|stream, request| match request.number {
        0 => say(stream, &ok("first")),
        _ => {
            say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nse");
            thread::sleep(Duration::from_secs(3600));
            false
        }
    });
    let result = run_on_time(&impatient(asks(address, &template(), &[goal("/", 1)], 4, None)));
    assert_eq!(result.errors.total(), result.errors.timeout);
    assert_eq!(result.errors.timeout, result.requests.failed);
    assert!(result.requests.failed >= 3, "{:?}", result.requests);
    // The first of each batch of four was answered, unless the machine paused until the timeout.
    let lost = result.requests.failed + result.requests.unanswered;
    assert!((1..=lost / 3).contains(&result.requests.completed), "{:?}", result.requests);
    assert_eq!((result.requests.completed + lost) % 4, 0, "{:?}", result.requests);
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
        let (address, _) = web(move |stream, _| say_last(stream, half));
        let result = run_on_time(&short(get(address)));
        assert_all(&result, kind, 2);
        assert_eq!(result.requests.completed, 0, "{half}");
        // Pauses of 1, 2, 4 ... 256 ms.
        assert!(result.connections.opened <= 24, "{:?}", result.connections);
    }
}

#[test]
fn a_reset_within_a_reply_is_a_reset() {
    let (address, _) = web(|stream, request| {
        if request.number == 5 {
            set_socket_linger(&*stream, Some(Duration::ZERO)).unwrap();
            return false;
        }
        say(stream, &ok("hello"))
    });
    let result = run_on_time(&short(get(address)));
    assert_all(&result, "reset", 1);
    assert!(result.requests.completed >= 5 * result.requests.failed, "{:?}", result.requests);
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
        let (address, _) = web(move |stream, _| say(stream, wrong));
        let result = run_on_time(&short(get(address)));
        assert_all(&result, "protocol", 2);
        assert_eq!(result.requests.completed, 0, "{wrong}");
    }
}

#[test]
fn a_reply_before_its_request_is_a_protocol_error() {
    let address = target(|mut stream| {
        say(&mut stream, &ok("guess"));
        thread::sleep(20 * MS);
    });
    let result = run_on_time(&short(get(address)));
    assert_eq!(result.errors.total(), result.errors.protocol + result.errors.reset);
    assert!(result.errors.total() > 0);
}

#[test]
fn a_close_within_a_batch_loses_the_rest() {
    let (address, seen) = web(|stream, request| {
        if request.number == 2 {
            return say_last(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
        say(stream, &ok(""))
    });
    let result = run_on_time(&short(asks(address, &template(), &[goal("/", 1)], 8, None)));
    assert_all(&result, "reset", 5);
    // Three of eight are answered on every connection.
    let (completed, failed) = (result.requests.completed, result.requests.failed);
    assert!(completed.abs_diff(failed * 3 / 5) <= 8, "{:?}", result.requests);
    assert!(seen.connections() >= 2);
}

#[test]
fn requests_without_a_listener_fail() {
    let listener = crate::shared::listener();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let streams: Vec<_> = listener.incoming().flatten().take(2).collect();
        drop(listener);
        thread::sleep(50 * MS);
        drop(streams);
    });
    let result = run_on_time(&short(get(address)));
    assert_eq!(result.requests.completed, 0);
    assert_eq!(result.errors.reset, 2);
    // Each tries again after 1, 2, 4 ... ms, and each time a request is lost.
    assert!((2..=24).contains(&result.errors.connect), "{:?}", result.errors);
    assert_eq!(result.requests.failed, result.errors.total());
}
