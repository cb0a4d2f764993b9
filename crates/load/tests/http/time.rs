//! Response times over HTTP are those that queueing theory gives for known service times.

use crate::{
    common::{MS, alone, lindley, quantile, run, serial_of},
    web::*,
};
use load::{Arrival, Options, http::Pipeline};
use std::{
    io::Read,
    net::{SocketAddr, TcpStream},
    time::Duration,
};

const SERVICE: fn(u64) -> Duration = |number| if number % 10 == 9 { 12 * MS } else { 2 * MS };

/// Requests one at a time, the n-th for `SERVICE(n)`.
fn serial_web() -> SocketAddr {
    serial_of(SERVICE, |stream: &mut TcpStream| {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        Some(ok("hello").into_bytes())
    })
}

#[test]
fn an_open_loop_measures_what_lindley_says_wherever_requests_queue() {
    let _turn = alone();
    // On one connection of room for all the queue is the target's, on eight without pipelines some of it is ours.
    for (arrival, connections, depth) in [(Arrival::Constant, 8, 1), (Arrival::Poisson, 8, 1), (Arrival::Poisson, 1, 64)] {
        let mut told = String::new();
        // A run that something else on the machine disturbed is repeated; a wrong generator is wrong each time.
        let agrees = (0..4).any(|_| {
            let options = Options {
                rate: Some(200.0),
                arrival,
                connections,
                duration: Duration::from_secs(1),
                timeout: Duration::from_secs(2),
                ..short(asks_as(serial_web(), &form(), &[goal("/", 1)], Pipeline::Single(depth), None))
            };
            let expected = lindley(&options, SERVICE);
            let result = run(&options).result;
            assert_eq!(result.errors.total(), 0);
            assert_eq!(result.latency.response.count, expected.len() as u64);
            let response = &result.latency.response;
            let figures = [(0.5, response.p50_us), (0.9, response.p90_us), (1.0, response.max_us)];
            told = format!("{arrival:?}, {connections} of {depth}: {response:?}");
            figures.iter().all(|(q, measured)| {
                let (measured, expected) = (measured.unwrap(), quantile(&expected, *q));
                measured >= expected * 0.9 - 1_000.0 && measured <= expected * 1.15 + 12_000.0
            })
        });
        assert!(agrees, "{told}");
    }
}
