//! Phases, limits, observers and sizes of runs.

use crate::shared::{notes::Notes, *};
use brunt_load::{Arrival, Options};
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[test]
fn a_request_limit_is_exact() {
    for threads in [1, 2] {
        let options = Options {
            requests: Some(5000),
            connections: 8,
            threads: vec![None; threads],
            duration: Duration::from_secs(120),
            warmup: Duration::from_millis(50),
            ..options(target(echo))
        };
        let result = run(&options).result;
        assert_eq!(result.requests.completed, 5000);
        assert!(result.requests.unanswered <= 8);
        assert!(!result.interrupted);
        assert!(result.load.measured_s < 100.0, "{}", result.load.measured_s);
        assert_eq!(result.latency.service.count, 5000 - first_of_warmup(&result));
    }
}

/// Completions of requests sent in the warm-up have no latency; there are at most as many as connections.
fn first_of_warmup(result: &brunt_results::RunResult) -> u64 {
    let without = result.requests.completed - result.latency.service.count;
    assert!(without <= result.load.connections);
    without
}

#[test]
fn a_stop_in_a_warm_up_that_would_end_by_rule_ends_the_run_without_a_window() {
    let warmup = Duration::from_secs(600);
    let options = Options { steady: true, warmup, threads: vec![None, None], ..options(target(echo)) };
    let mut notes = Notes::new(Some(Duration::from_millis(400)));
    notes.since = Some(Instant::now());
    let report = brunt_load::run(&options, &mut notes).unwrap();
    let load = &report.result.load;
    assert!(report.result.interrupted);
    assert_eq!((load.measured_s, report.result.requests.completed), (0.0, 0));
    assert!((0.1..LIMIT.as_secs_f64()).contains(&load.warmup_s), "{}", load.warmup_s);
}

#[test]
fn a_stop_ends_the_run_early_and_keeps_what_was_measured() {
    let options = Options { duration: Duration::from_secs(600), threads: vec![None, None], ..options(target(echo)) };
    let mut notes = Notes::new(Some(Duration::from_millis(400)));
    let start = Instant::now();
    let report = brunt_load::run(&options, &mut notes).unwrap();
    let took = start.elapsed();
    assert!(took < LIMIT, "{took:?}");
    let result = &report.result;
    assert!(result.interrupted);
    assert!(result.requests.completed > 0);
    assert!((0.3..took.as_secs_f64()).contains(&result.load.measured_s), "{}", result.load.measured_s);
    assert_eq!(notes.calls.last().unwrap().0, "closed");
    assert_eq!(report.seconds.iter().map(|s| s.completed).sum::<u64>(), result.requests.completed);
}

#[test]
fn a_stop_before_the_window_is_a_result_without_requests() {
    let options = Options { warmup: Duration::from_secs(600), threads: vec![None, None], ..options(target(echo)) };
    let mut notes = Notes::new(Some(Duration::from_millis(200)));
    let start = Instant::now();
    notes.since = Some(start);
    let result = brunt_load::run(&options, &mut notes).unwrap().result;
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    assert!(result.interrupted);
    assert_eq!((result.requests.completed, result.load.measured_s), (0, 0.0));
    assert_eq!(result.requests.rate, 0.0);
    assert_eq!(result.latency.response.count, 0);
}

#[test]
fn messages_of_every_size_are_sent_and_checked_completely() {
    // The largest exceeds all socket buffers: writing all of it before reading would block for ever.
    for size in [1, 3, 8, 9, 4095, 65_537, 16 << 20] {
        let options = Options {
            target: brunt_load::Target::Echo { address: target(echo).into(), size, reuse: None },
            requests: Some(20),
            duration: Duration::from_secs(120),
            timeout: Duration::from_secs(60),
            ..options("127.0.0.1:1".parse::<std::net::SocketAddr>().unwrap())
        };
        let result = run(&options).result;
        assert_eq!((result.requests.completed, result.errors.total()), (20, 0), "{size} bytes");
        assert!(result.bytes.received >= 20 * size as u64);
        assert!(result.bytes.sent >= result.bytes.received);
    }
}

#[test]
fn connections_and_replacements_take_sources_in_turn() {
    let (seen, coming) = mpsc::channel();
    let once = move |mut stream: TcpStream| {
        seen.send(stream.peer_addr().unwrap().ip()).unwrap();
        let mut message = [0; SIZE];
        if stream.read_exact(&mut message).is_ok() {
            let _ = stream.write_all(&message);
        }
    };
    let options = Options {
        connections: 10,
        threads: vec![None; 2],
        sources: Some("127.0.0.2-127.0.0.3,127.9.9.9".parse().unwrap()),
        // Each connection has one reply and loses the next request.
        requests: Some(120),
        duration: Duration::from_secs(60),
        ..options(target(once))
    };
    let opened = run(&options).result.connections.opened;
    assert!(opened >= 50, "{opened}");
    // The last ones may be accepted after the load.
    let ips: Vec<IpAddr> = (0..opened).map(|_| coming.recv_timeout(LIMIT).unwrap()).collect();
    // Two threads take turns at three addresses: of the first ten each has three or four.
    let from = |ip: &str| ips.iter().filter(|seen| **seen == ip.parse::<IpAddr>().unwrap()).count();
    let each = ["127.0.0.2", "127.0.0.3", "127.9.9.9"].map(from);
    assert_eq!(each.iter().sum::<usize>(), ips.len());
    assert!(each.iter().all(|count| *count >= 3), "{each:?}");
}

#[test]
fn poisson_runs_with_equal_seeds_offer_equal_loads() {
    let offered = |seed| {
        let options = Options {
            rate: Some(3000.0),
            arrival: Arrival::Poisson,
            duration: Duration::from_millis(200),
            seed,
            ..options(target(echo))
        };
        let result = run(&options).result;
        result.requests.completed + result.requests.unanswered + result.requests.failed
    };
    assert_eq!(offered(1), offered(1));
    assert_ne!(offered(1), offered(2));
}
