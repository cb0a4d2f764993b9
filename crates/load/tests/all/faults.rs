//! Faults that only a real kernel makes; those of targets are in `sim/faults.rs`.

use crate::shared::*;
use brunt_load::{LoadError, Options, Silent};
use brunt_testkit::listener;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn a_connection_lost_after_replies_is_replaced_at_once() {
    for protocol in PROTOCOLS {
        let ten = |mut stream: Peer| {
            let mut message = [0; SIZE];
            for _ in 0..10 {
                if stream.read_exact(&mut message).and_then(|()| stream.write_all(&message)).is_err() {
                    return;
                }
            }
        };
        // Answered or failed, without a limit of time.
        let load =
            Options { requests: Some(600), duration: Duration::from_secs(600), ..options(target_on(protocol, ten)) };
        let result = run(&load).result;
        assert!(result.connections.opened >= 50, "{:?}", result.connections);
        assert_eq!(result.connections.peak, 2);
        assert!(result.requests.completed >= 10 * (result.connections.opened - 2));
    }
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
    let error = brunt_load::run(&Options { timeout: 100 * MS, ..options(address) }, &mut Silent).unwrap_err();
    assert!(matches!(error, LoadError::NoAnswer(..)), "{error}");
    assert!(error.to_string().contains("100ms"), "{error}");
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
}
