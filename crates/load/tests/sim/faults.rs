//! Targets that answer badly: each failure is counted, once and by its kind.

use crate::targets::{Stream, ends_after, never_answers, serve};
use crate::worlds::{MS, Run, SECOND, SIZE, US, addresses, beside, exact, fails, on, options, run, times, values};
use brunt_load::{Direct, LoadError, Options, Silent, run_in_world};
use brunt_results::{LatencySummary, RunResult, Threshold, verdict::Kind};
use brunt_runtime::net::{Address, Any, Listener, TcpStream};
use brunt_runtime::{spawn, time};
use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Attempts of a connection that fails at once, in a second: it is opened again after 1, 2, 4 ... 256 ms, so the tenth attempt is
/// half a second after the first, and the next would be another half second later.
const ATTEMPTS: u64 = 10;

/// The same load on each family of addresses.
fn loads(options: Options) -> impl Iterator<Item = Options> {
    addresses().into_iter().map(move |address| on(address, options.clone()))
}

/// No request has succeeded, and each failure is of the kind whose count is given.
#[track_caller]
fn assert_all(result: &RunResult, kind: u64, failed: u64) {
    let requests = &result.requests;
    assert_eq!((requests.completed, requests.failed, requests.unanswered), (0, failed, 0), "{:?}", result.errors);
    assert_eq!((kind, result.errors.total()), (failed, failed), "{:?}", result.errors);
    assert_eq!((result.latency.service.count, result.latency.error.count), (0, failed));
    assert_eq!(result.verdict.kind, Kind::Errors);
}

/// Reads a message; `None` at the end of the connection.
pub async fn read(stream: &mut Stream) -> Option<Vec<u8>> {
    let mut message = vec![0; SIZE];
    stream.read_exact(&mut message).await.is_ok().then_some(message)
}

pub async fn write(stream: &mut Stream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).await.is_ok() && stream.flush().await.is_ok()
}

#[test]
fn a_target_that_never_answers_fails_each_request_by_its_timeout() {
    for options in loads(Options { timeout: 100 * MS, connections: 4, ..options() }) {
        let Run { report, responses } = run(&exact(1), &options, never_answers());
        let result = report.result;
        // Timeouts are looked for every 6.25 ms, and a lost connection is opened again after 1, 2, 4 ... ms: eight fit.
        assert_all(&result, result.errors.timeout, 32);
        assert_eq!(values(&responses), values(&times(32, 100 * MS)));
        let response = result.latency.response;
        assert_eq!(response, LatencySummary { censored: 32, ..LatencySummary::of(&times(32, 100 * MS)) });
        assert!(response.is_bound("p50"));
        assert_eq!(result.latency.error, LatencySummary::of(&times(32, 100 * MS)));
        assert_eq!(result.connections.opened, 32);
    }
}

/// Answers each message after 1 ms; every twentieth never, or with a reset.
async fn drops_some(resets: bool) {
    serve(move |mut stream: Stream| async move {
        for number in 1.. {
            let Some(message) = read(&mut stream).await else { return };
            time::sleep(MS).await;
            if number % 20 > 0 {
                write(&mut stream, &message).await;
            } else if resets {
                return stream.set_linger_zero().unwrap();
            }
        }
    })
    .await;
}

#[test]
fn requests_that_a_target_drops_are_longer_than_all_that_it_answers() {
    for (resets, options) in [false, true].into_iter().flat_map(|resets| loads(options()).map(move |of| (resets, of))) {
        let options = Options { timeout: 100 * MS, connections: 4, ..options };
        let result = run(&exact(1), &options, drops_some(resets)).report.result;
        let response = &result.latency.response;
        let share = response.censored as f64 / response.count as f64;
        assert!((0.045..0.06).contains(&share), "{resets}: {response:?}");
        let late = result.requests.unanswered - result.requests.abandoned;
        assert_eq!(response.count, result.requests.completed + late + response.censored);
        let is_bound = ["p50", "p90", "p99", "p99.9", "mean", "max"].map(|figure| response.is_bound(figure));
        assert_eq!(is_bound, [false, false, true, true, true, true]);
        let least_us = if resets { 1000.0 } else { 100_000.0 };
        assert!(response.p99_us.unwrap() >= least_us && response.p90_us.unwrap() < 1100.0, "{response:?}");
        let crossed = |bound: &str| bound.parse::<Threshold>().unwrap().crossed(&result).is_some();
        assert!(crossed("p99>1h") && crossed("mean>1h") && !crossed("p90>2ms"));
    }
}

#[test]
fn each_request_that_a_target_drops_is_a_failure_of_the_window_in_which_it_was_due() {
    for (rate, warmup) in [(Some(500.0), 1000 * MS), (Some(500.0), Duration::ZERO), (Some(480.0), 500 * MS)] {
        let (options, number) = (options(), Rc::new(Cell::new(0)));
        // The drain is longer than the timeout, and there is always an idle connection.
        let options = Options { timeout: 200 * MS, connections: 30, duration: 2 * SECOND, rate, warmup, ..options };
        let drops = serve(move |mut stream: Stream| {
            let number = number.clone();
            async move {
                while let Some(message) = read(&mut stream).await {
                    if number.replace(number.get() + 1) % 20 > 0 {
                        write(&mut stream, &message).await;
                    }
                }
            }
        });
        let result = run(&exact(1), &options, drops).report.result;
        let due = result.requests.due.unwrap();
        assert_eq!((result.failures(), result.requests.failed, result.errors.timeout), (due / 20, due / 20, due / 20));
        assert_eq!((result.latency.response.count, result.latency.response.censored), (due, due / 20));
        assert_eq!((result.requests.abandoned, result.latency.error.count), (0, due / 20));
    }
}

#[test]
fn a_target_that_stalls_within_the_reply_times_out_too() {
    let half = |mut stream: Stream| async move {
        while let Some(message) = read(&mut stream).await {
            if !write(&mut stream, &message[..SIZE / 2]).await {
                return;
            }
        }
    };
    for options in loads(Options { timeout: 100 * MS, connections: 4, ..options() }) {
        let result = run(&exact(1), &options, serve(half)).report.result;
        assert_all(&result, result.errors.timeout, 32);
        assert_eq!((result.bytes.sent, result.bytes.received), (32 * SIZE as u64, 16 * SIZE as u64));
    }
}

#[test]
fn requests_that_wait_for_a_target_that_never_answers_are_unanswered() {
    let options = Options { timeout: 100 * MS, connections: 4, rate: Some(100.0), ..options() };
    let Run { report, responses } = run(&exact(1), &options, never_answers());
    let (requests, errors) = (&report.result.requests, &report.result.errors);
    assert_eq!((requests.completed, requests.failed, requests.unanswered, requests.abandoned), (0, 32, 68, 68));
    assert_eq!((errors.timeout, errors.total()), (32, 32));
    assert_eq!(report.result.latency.response.count, 100);
    assert_eq!(responses.len(), 32);
}

#[test]
fn requests_without_any_reply_are_failures_that_took_at_least_as_long_as_they_waited() {
    for options in loads(Options { timeout: Duration::from_secs(600), connections: 2, ..options() }) {
        let world = exact(1);
        let result = run(&world, &options, never_answers()).report.result;
        assert_eq!((result.requests.completed, result.requests.failed), (0, 0));
        assert_eq!((result.requests.unanswered, result.requests.abandoned, result.failures()), (2, 2, 2));
        let response = &result.latency.response;
        assert_eq!((response.count, response.censored), (2, 2));
        assert!(response.p50_us.unwrap() > 1.9e6 && response.is_bound("p50"), "{response:?}");
        assert_eq!(result.verdict.kind, Kind::Errors);
        assert!(result.verdict.why[0].starts_with("2 of 2 requests failed (2 unanswered)"), "{:?}", result.verdict);
        // The run waits for replies for a second, whatever the timeout.
        let end = world.elapsed();
        assert!((2000 * MS..2020 * MS).contains(&end), "{end:?}");
    }
}

#[test]
fn a_close_within_a_reply_truncates_it() {
    let half = |mut stream: Stream| async move {
        if let Some(message) = read(&mut stream).await {
            write(&mut stream, &message[..SIZE / 2]).await;
        }
    };
    for options in loads(Options { connections: 2, ..options() }) {
        let result = run(&exact(1), &options, serve(half)).report.result;
        assert_all(&result, result.errors.truncated, 2 * ATTEMPTS);
    }
}

#[test]
fn closed_connections_are_resets_and_reopened_with_pauses() {
    for options in loads(Options { connections: 2, ..options() }) {
        let closes = |mut stream| async move { drop(read(&mut stream).await) };
        let result = run(&exact(1), &options, serve(closes)).report.result;
        assert_all(&result, result.errors.reset, 2 * ATTEMPTS);
        assert_eq!(result.connections.opened, 2 * ATTEMPTS);
        // A refusal must not improve a percentile.
        assert_eq!((result.latency.response.count, result.latency.response.censored), (20, 20));
    }
}

#[test]
fn a_connection_that_is_closed_or_reset_loses_the_request_on_it() {
    for reset in [false, true] {
        let options = Options { connections: 4, ..options() };
        let result = run(&exact(1), &options, ends_after(10, reset)).report.result;
        let requests = &result.requests;
        // Ten replies, then a request whose connection is gone and opened again a millisecond later.
        assert_eq!(requests.completed, 10 * result.connections.opened);
        assert_eq!((requests.failed, result.errors.closed), (result.connections.opened, result.connections.opened));
        assert_eq!((result.errors.total(), requests.unanswered), (requests.failed, 0));
    }
}

#[test]
fn an_idle_connection_that_ends_loses_no_request() {
    for reset in [false, true] {
        let options = Options { connections: 4, rate: Some(1000.0), ..options() };
        let result = run(&exact(1), &options, ends_after(10, reset)).report.result;
        let requests = &result.requests;
        assert_eq!((requests.completed, requests.failed, requests.unanswered, requests.waited), (1000, 0, 0, Some(0)));
        assert_eq!((result.errors.reset, result.errors.total(), result.connections.opened), (98, 98, 102));
    }
}

#[test]
fn replies_with_wrong_bytes_are_protocol_errors_and_end_their_connection() {
    let wrong = |mut stream: Stream| async move {
        for number in 0.. {
            let Some(mut message) = read(&mut stream).await else { return };
            message[SIZE - 3] ^= u8::from(number == 20);
            if !write(&mut stream, &message).await {
                return;
            }
        }
    };
    for options in loads(Options { requests: Some(210), ..options() }) {
        let result = run(&exact(1), &options, serve(wrong)).report.result;
        // Twenty correct replies on each connection before the wrong one.
        assert_eq!((result.requests.completed, result.requests.failed), (200, 10));
        assert_eq!((result.errors.protocol, result.errors.total(), result.connections.opened), (10, 10, 10));
        let unverified = run(
            &exact(1),
            &Options { direct: Direct { no_verify: true, ..Direct::default() }, ..options },
            serve(wrong),
        )
        .report
        .result;
        assert_eq!((unverified.requests.completed, unverified.errors.total()), (210, 0));
    }
}

#[test]
fn excess_bytes_are_a_protocol_error_with_a_reply_and_after_it() {
    for apart in [false, true] {
        let extra = move |mut stream: Stream| async move {
            while let Some(mut message) = read(&mut stream).await {
                message.extend_from_slice(b"and more");
                let (first, second) = message.split_at(if apart { SIZE } else { SIZE + 8 });
                if !write(&mut stream, first).await {
                    return;
                }
                if apart {
                    time::sleep(20 * MS).await;
                }
                write(&mut stream, second).await;
            }
        };
        for options in loads(Options { connections: 2, ..options() }) {
            let result = run(&exact(1), &options, serve(extra)).report.result;
            // Bytes with a reply fail its request; bytes behind it fail the next one, whose connection is opened again a
            // millisecond later, after a success.
            match apart {
                false => assert_all(&result, result.errors.protocol, 2 * ATTEMPTS),
                true => {
                    let requests = &result.requests;
                    assert_eq!((requests.completed, requests.failed, requests.unanswered), (96, 96, 0));
                    assert_eq!((result.errors.protocol, result.errors.total()), (96, 96));
                }
            }
        }
    }
}

#[test]
fn a_target_without_a_server_is_an_error() {
    for options in loads(Options { timeout: Duration::from_secs(600), ..options() }) {
        let world = exact(1);
        let error = fails(&world, &options, pending());
        assert!(matches!(error, LoadError::Refused(_)));
        let address = options.url.strip_prefix("tcp://").unwrap();
        let text =
            format!("nothing listens on {address} (connection refused): start the target first or check the port");
        assert_eq!(error.to_string(), text);
        assert!(world.elapsed() < 5 * MS, "{:?}", world.elapsed());
    }
}

#[test]
fn dropped_connection_attempts_end_the_run_after_the_timeout() {
    let world = exact(1);
    world.change(|settings| settings.backlog = 1);
    let full = async {
        let [address, _] = addresses();
        let _listener = Listener::<Any>::bind(&address).unwrap();
        let mut held = Vec::new();
        let to = address.tcp().unwrap();
        while let Ok(Ok(stream)) = time::timeout(100 * US, TcpStream::connect(to)).await {
            held.push(stream);
        }
        pending().await
    };
    let options = Options { timeout: 100 * MS, ..options() };
    let error = beside(&world, full, async {
        time::sleep(10 * MS).await;
        run_in_world(&options, &mut Silent).await.map(|report| report.result).unwrap_err()
    });
    assert!(matches!(error, LoadError::NoAnswer(..)) && error.to_string().contains("100ms"), "{error}");
    assert!((110 * MS..115 * MS).contains(&world.elapsed()), "{:?}", world.elapsed());
}

/// Takes two connections and no other; each answers 50 messages, and ends with a request outstanding.
async fn exits(address: Address) {
    let listener = Listener::<Any>::bind(&address).unwrap();
    for _ in 0..2 {
        let mut stream = listener.accept().await.unwrap();
        spawn(async move {
            for _ in 0..50 {
                let Some(message) = read(&mut stream).await else { return };
                write(&mut stream, &message).await;
            }
            read(&mut stream).await;
        });
    }
    drop(listener);
    pending().await
}

#[test]
fn a_target_that_exits_causes_resets_and_then_refused_connections() {
    for (options, address) in loads(Options { connections: 2, ..options() }).zip(addresses()) {
        let result = run(&exact(1), &options, exits(address)).report.result;
        assert_eq!((result.requests.completed, result.requests.failed, result.errors.closed), (100, 2, 2));
        // Each tries again after 1, 2, 4 ... ms, once less than it would fail: its first attempt has succeeded.
        assert_eq!((result.errors.connect, result.connections.opened), (2 * (ATTEMPTS - 1), 2));
    }
}

/// Serves until `end`, then closes all connections and takes no other.
async fn exits_at(address: Address, end: Instant) {
    let listener = Listener::<Any>::bind(&address).unwrap();
    while let Ok(Ok(mut stream)) = time::timeout(end - time::now(), listener.accept()).await {
        spawn(async move {
            while let Ok(Some(message)) = time::timeout(end - time::now(), read(&mut stream)).await {
                write(&mut stream, &message).await;
            }
        });
    }
    drop(listener);
    pending().await
}

#[test]
fn requests_that_become_due_after_the_exit_of_a_target_are_errors_of_an_open_loop() {
    for (options, address) in
        loads(Options { connections: 8, rate: Some(500.0), duration: 3 * SECOND, ..options() }).zip(addresses())
    {
        let target = async move { exits_at(address, time::now() + 706 * MS).await };
        let result = run(&exact(1), &options, target).report.result;
        // One is due every two milliseconds of the load, which begins seven after the target, and over Unix sockets five.
        let requests = &result.requests;
        let answered = if options.url.starts_with("tcp://1") { 350 } else { 351 };
        assert_eq!((requests.completed, requests.failed, requests.abandoned), (answered, 0, 1500 - answered));
        // Each connection is lost, and tries again after 1, 2, 4 ... ms. These alone are few: a bound on errors counts what was
        // never sent.
        assert_eq!((result.errors.reset, result.connections.opened), (8, 8));
        assert_eq!((result.errors.connect, result.errors.total()), (8 * 12, 8 * 13));
        assert_eq!(result.failures(), 8 * 13 + 1500 - answered);
        let crossed = |bound: &str| bound.parse::<Threshold>().unwrap().crossed(&result).is_some();
        assert!(crossed("errors>70%") && !crossed("errors>80%"));
        assert_eq!(result.verdict.kinds[0], Kind::Errors);
        assert!(result.verdict.why[0].contains(&format!("{} unanswered", 1500 - answered)), "{:?}", result.verdict);
    }
}
