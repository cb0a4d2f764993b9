//! Limits, sizes and addresses of runs.

use crate::shared::*;
use brunt_load::Options;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

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
