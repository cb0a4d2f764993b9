//! Echo is byte-exact for any fragmentation and any reading speed.

use crate::shared::server::*;
use proptest::{prelude::*, test_runner::TestRunner};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Sends pieces of these lengths with these delays in microseconds, reads `step` bytes at a time, and returns
/// everything received.
fn there_and_back(stream: TcpStream, pieces: &[(usize, u64)], at_once: usize) -> Vec<u8> {
    let sent = pattern(pieces.iter().map(|(len, _)| len).sum());
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut rest = &sent[..];
            for (len, pause) in pieces {
                thread::sleep(Duration::from_micros(*pause));
                (&stream).write_all(&rest[..*len]).unwrap();
                rest = &rest[*len..];
            }
            stream.shutdown(Shutdown::Write).unwrap();
        });
        let (mut all, mut buffer) = (Vec::new(), vec![0; at_once]);
        loop {
            match read(&stream, &mut buffer) {
                0 => return all,
                len => all.extend_from_slice(&buffer[..len]),
            }
        }
    })
}

#[test]
fn the_echo_does_not_depend_on_how_input_is_split() {
    let servers: Vec<_> = models().map(|model| (model, Server::of_model(model, ""))).collect();
    let len = prop_oneof![1..100usize, 1..10_000usize, 60_000..140_000usize];
    let pause = prop_oneof![Just(0u64), 0..500u64];
    let pieces = proptest::collection::vec((len, pause), 0..12);
    let mut runner = TestRunner::new(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() });
    let result = runner.run(&(pieces, 1..20_000usize), |(pieces, at_once)| {
        let expected = pattern(pieces.iter().map(|(len, _)| len).sum());
        for (model, server) in &servers {
            let all = there_and_back(connect(server.address()), &pieces, at_once);
            prop_assert!(all == expected, "{}: {} of {} bytes came back", model, all.len(), expected.len());
        }
        Ok(())
    });
    result.unwrap();
}

#[test]
fn slow_readers_lose_nothing_and_delay_no_others() {
    for model in models() {
        let server = Server::of_model(model, "");
        let (mut slow, mut other) = (connect(server.address()), connect(server.address()));
        slow.set_nonblocking(true).unwrap();
        // Until both directions are full: nothing more is accepted for a while.
        let (mut sent, mut since, start) = (0, Instant::now(), Instant::now());
        let message = pattern(251 * 256);
        while since.elapsed() < Duration::from_millis(100) && start.elapsed() < PATIENCE {
            match slow.write(&message[sent % message.len()..]) {
                Ok(len) => (sent, since) = (sent + len, Instant::now()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{model}: {error}"),
            }
        }
        assert!(sent > 100_000, "{model}: {sent} bytes were taken");
        ask(&mut other, b"and me?");
        slow.set_nonblocking(false).unwrap();
        slow.shutdown(Shutdown::Write).unwrap();
        let mut all = Vec::new();
        slow.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), sent, "{model}");
        let is_right = all.chunks(message.len()).all(|chunk| chunk == &message[..chunk.len()]);
        assert!(is_right, "{model}: other bytes came back");
    }
}
