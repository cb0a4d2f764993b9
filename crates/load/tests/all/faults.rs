//! Faulty targets: each failure has its kind, and the run ends on time.

use crate::shared::*;
use brunt_load::{Direct, LoadError, Options, Report, Silent};
use brunt_results::verdict::Kind;
use brunt_runtime::net::Address;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// A run of half a second.
fn short(address: impl Into<Address>) -> Options {
    Options { duration: Duration::from_millis(500), ..options(address) }
}

/// As [`short`], with a timeout of 0.1 s.
fn impatient(address: impl Into<Address>) -> Options {
    Options { timeout: Duration::from_millis(100), ..short(address) }
}

/// A number of requests, answered or failed, without a limit of time.
fn some(requests: u64, address: impl Into<Address>) -> Options {
    Options { requests: Some(requests), duration: Duration::from_secs(600), ..options(address) }
}

/// Runs a load and checks that it took no longer than its window, one timeout and a margin.
fn run_on_time(options: &Options) -> Report {
    let start = Instant::now();
    let report = run(options);
    let limit = options.duration + options.warmup + options.timeout.min(Duration::from_secs(1));
    let took = start.elapsed();
    assert!(took < limit + LIMIT, "took {took:?} of {limit:?}");
    report
}

fn read_one(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut message = vec![0; SIZE];
    stream.read_exact(&mut message).ok().map(|()| message)
}

fn sleep_for_ever() {
    thread::sleep(Duration::from_secs(3600));
}

#[test]
fn a_target_that_never_answers_times_out_and_has_no_response_time() {
    for protocol in PROTOCOLS {
        let report = run_on_time(&impatient(target_on(protocol, |_stream| sleep_for_ever())));
        let result = &report.result;
        assert_eq!(result.requests.completed, 0);
        // Two connections, a timeout of 0.1 s and a reconnection each time: four or five rounds in half a second, or fewer on a
        // busy machine.
        let timeouts = result.errors.timeout;
        assert!((2..=10).contains(&timeouts), "{:?}", result.errors);
        assert_eq!(result.requests.failed, result.errors.timeout);
        assert_eq!(result.errors.total(), result.errors.timeout);
        let response = &result.latency.response;
        assert_eq!(response.count, result.errors.timeout + result.requests.unanswered);
        assert_eq!((response.mean_us, response.p50_us, response.max_us), (None, None, None));
        let max = result.latency.error.max_us.unwrap();
        assert!((max / 100_000.0 - 1.0).abs() < 0.002, "at the timeout's value, not {max} us");
        assert_eq!(result.latency.error.count, result.errors.timeout);
        // Except those due after the end of the window.
        assert!((timeouts..=2 + timeouts).contains(&result.connections.opened), "{:?}", result.connections);
        assert_eq!(result.verdict.kind, Kind::Errors);
    }
}

#[test]
fn a_target_that_stalls_within_the_reply_times_out_too() {
    for protocol in PROTOCOLS {
        let half = |mut stream: Peer| {
            while let Some(message) = read_one(&mut stream) {
                if stream.write_all(&message[..SIZE / 2]).is_err() {
                    return;
                }
            }
        };
        let result = run_on_time(&impatient(target_on(protocol, half))).result;
        assert_eq!(result.requests.completed, 0);
        assert!((2..=10).contains(&result.errors.timeout), "{:?}", result.errors);
        assert_eq!(result.errors.total(), result.errors.timeout);
        // The window may end between a request and its half reply.
        let half = result.bytes.sent / 2;
        let missing = result.requests.unanswered * SIZE as u64 / 2;
        assert!((half - missing..=half).contains(&result.bytes.received), "{:?}", result.bytes);
    }
}

#[test]
fn requests_without_any_reply_are_failures_without_a_response_time() {
    for protocol in PROTOCOLS {
        let options =
            Options { timeout: Duration::from_secs(600), ..short(target_on(protocol, |_stream| sleep_for_ever())) };
        let result = run_on_time(&options).result;
        assert_eq!((result.requests.completed, result.requests.failed), (0, 0));
        assert_eq!((result.requests.unanswered, result.requests.abandoned, result.failures()), (2, 2, 2));
        let response = &result.latency.response;
        assert_eq!((response.count, response.mean_us, response.p50_us), (2, None, None));
        assert_eq!(result.verdict.kind, Kind::Errors);
        assert!(result.verdict.why[0].starts_with("2 of 2 requests failed (2 unanswered)"), "{:?}", result.verdict);
    }
}

#[test]
fn replies_with_wrong_bytes_are_protocol_errors() {
    for protocol in PROTOCOLS {
        let wrong = |mut stream: Peer| {
            for number in 0.. {
                let Some(mut message) = read_one(&mut stream) else { return };
                message[SIZE - 3] ^= u8::from(number == 20);
                if stream.write_all(&message).is_err() {
                    return;
                }
            }
        };
        let result = run(&some(200, target_on(protocol, wrong))).result;
        assert!(result.errors.protocol > 2, "{:?}", result.errors);
        assert_eq!(result.errors.total(), result.errors.protocol);
        assert_eq!(result.requests.failed, result.errors.protocol);
        // Twenty correct replies on each connection before the wrong one.
        let good = result.requests.completed;
        assert!(good >= 20 * (result.errors.protocol - 2) && good <= 20 * result.connections.opened);
    }
}

#[test]
fn without_verification_only_the_number_of_bytes_is_checked() {
    for protocol in PROTOCOLS {
        let wrong = |mut stream: Peer| {
            while let Some(mut message) = read_one(&mut stream) {
                message.reverse();
                let _ = stream.write_all(&message);
            }
        };
        let options = Options { direct: Direct { no_verify: true }, ..some(200, target_on(protocol, wrong)) };
        let result = run(&options).result;
        assert_eq!((result.errors.total(), result.requests.completed), (0, 200));
    }
}

#[test]
fn excess_bytes_are_a_protocol_error_with_a_reply_and_after_it() {
    for protocol in PROTOCOLS {
        for apart in [false, true] {
            let extra = move |mut stream: Peer| {
                while let Some(mut message) = read_one(&mut stream) {
                    message.extend_from_slice(b"and more");
                    let (first, second) = message.split_at(if apart { SIZE } else { SIZE + 8 });
                    let _ = stream.write_all(first);
                    if apart {
                        thread::sleep(20 * MS);
                    }
                    let _ = stream.write_all(second);
                }
            };
            let result = run_on_time(&short(target_on(protocol, extra))).result;
            assert!(result.errors.protocol > 0, "apart {apart}: {:?}", result.errors);
            assert_eq!(result.errors.total(), result.errors.protocol, "apart {apart}");
            // Bytes after the reply fail the next request; bytes with it fail its own.
            assert_eq!(result.requests.completed > 0, apart);
        }
    }
}

#[test]
fn a_close_within_a_reply_truncates_it() {
    for protocol in PROTOCOLS {
        let half = |mut stream: Peer| {
            let _ = read_one(&mut stream).map(|message| stream.write_all(&message[..SIZE / 2]));
        };
        let result = run_on_time(&short(target_on(protocol, half))).result;
        assert_eq!((result.requests.completed, result.errors.total()), (0, result.errors.truncated));
        assert!(
            result.errors.truncated >= 2 && result.errors.truncated == result.requests.failed,
            "{:?}",
            result.errors
        );
    }
}

#[test]
fn closed_connections_are_resets_and_reopened_with_pauses() {
    for protocol in PROTOCOLS {
        let result = run_on_time(&short(target_on(protocol, |mut stream| drop(read_one(&mut stream))))).result;
        assert_eq!(result.requests.completed, 0);
        assert!(result.errors.reset > 0, "{:?}", result.errors);
        assert_eq!(result.errors.total(), result.errors.reset);
        // Pauses of 1, 2, 4 ... 256 ms: nine or ten connections of each of the two fit into half a second.
        assert!(result.connections.opened <= 24, "{:?}", result.connections);
        // A refusal must not improve a percentile: only requests in flight at the end are responses.
        assert!(result.latency.response.count <= 2);
        assert_eq!(result.latency.error.count, result.requests.failed);
    }
}

#[test]
fn a_connection_lost_after_replies_is_replaced_at_once() {
    for protocol in PROTOCOLS {
        let ten = |mut stream: Peer| {
            for _ in 0..10 {
                let Some(message) = read_one(&mut stream) else { return };
                let _ = stream.write_all(&message);
            }
        };
        let result = run(&some(600, target_on(protocol, ten))).result;
        assert!(result.connections.opened >= 50, "{:?}", result.connections);
        assert_eq!(result.connections.peak, 2);
        assert!(result.requests.completed >= 10 * (result.connections.opened - 2));
    }
}

#[test]
fn an_open_loop_replaces_closed_idle_connections() {
    for protocol in PROTOCOLS {
        let idle = |mut stream: Peer| {
            let Some(message) = read_one(&mut stream) else { return };
            let _ = stream.write_all(&message);
            thread::sleep(5 * MS);
        };
        let options = Options { rate: Some(100.0), connections: 10, ..short(target_on(protocol, idle)) };
        let result = run_on_time(&options).result;
        let requests = &result.requests;
        assert!(requests.completed > 0, "{requests:?}");
        assert_eq!(requests.completed + requests.failed + requests.unanswered, 50);
        assert!(result.errors.reset > requests.failed, "an idle loss is no failed request");
    }
}

#[test]
fn without_a_listener_the_run_ends_at_once() {
    let address = listener().local_addr().unwrap();
    let start = Instant::now();
    let patient = Options { timeout: Duration::from_secs(600), ..short(address) };
    let error = brunt_load::run(&patient, &mut Silent).unwrap_err();
    assert!(matches!(error, LoadError::Refused(_)));
    assert_eq!(
        error.to_string(),
        format!("nothing listens on {address} (connection refused): start the target first or check the port")
    );
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}

#[test]
fn dropped_connection_attempts_end_the_run_after_the_timeout() {
    // The full queue of a listener that never accepts: Linux drops further attempts silently.
    let listener = listener();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(500)) {
        held.push(stream);
    }
    let start = Instant::now();
    let error = brunt_load::run(&impatient(address), &mut Silent).unwrap_err();
    assert!(matches!(error, LoadError::NoAnswer(..)), "{error}");
    assert!(error.to_string().contains("100ms"), "{error}");
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}

#[test]
fn a_target_that_exits_causes_resets_and_then_refused_connections() {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let streams: Vec<TcpStream> = listener.incoming().flatten().take(2).collect();
        drop(listener);
        for mut stream in streams {
            thread::spawn(move || {
                for _ in 0..50 {
                    let Some(message) = read_one(&mut stream) else { return };
                    let _ = stream.write_all(&message);
                }
                // It closes with a request outstanding.
                let _ = read_one(&mut stream);
            });
        }
    });
    let result = run_on_time(&short(address)).result;
    assert_eq!(result.requests.completed, 100);
    assert_eq!((result.requests.failed, result.errors.reset), (2, 2));
    // Each tries again after 1, 2, 4 ... ms.
    assert!((2..=24).contains(&result.errors.connect), "{:?}", result.errors);
}
