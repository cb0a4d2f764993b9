//! Response times over HTTP are those that queueing theory gives for known service times.

use crate::{
    common::{MS, alone, lindley, quantile, run, serial_of},
    web::*,
};
use load::{Arrival, Options};
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
fn an_open_loop_measures_what_lindley_says() {
    let _turn = alone();
    for arrival in [Arrival::Constant, Arrival::Poisson] {
        let mut told = String::new();
        // A run that something else on the machine disturbed is repeated, with more room for what it adds; a generator that
        // flatters the target is wrong each time.
        let agrees = (1..=8).any(|attempt| {
            let options = Options {
                rate: Some(200.0),
                arrival,
                connections: 8,
                duration: Duration::from_secs(1),
                ..short(get(serial_web()))
            };
            let expected = lindley(&options, SERVICE);
            let result = run(&options).result;
            assert_eq!(result.errors.total(), 0);
            assert_eq!(result.latency.response.count, expected.len() as u64);
            let response = &result.latency.response;
            let figures = [(0.5, response.p50_us), (0.9, response.p90_us), (1.0, response.max_us)];
            told = format!("{arrival:?}: {response:?}");
            figures.iter().all(|(q, measured)| {
                let (measured, expected) = (measured.unwrap(), quantile(&expected, *q));
                let above = f64::from(attempt) * (expected * 0.15 + 12_000.0);
                measured >= expected * 0.9 - 1_000.0 && measured <= expected + above
            })
        });
        assert!(agrees, "{told}");
    }
}
