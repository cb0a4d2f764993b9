//! Response times over HTTP follow queueing theory for known service times.

use crate::shared::{MS, Protocol, control, lindley, quantile, run, serial, serial_of, web::*};
use brunt_load::{Arrival, Options, http::Pipeline};
use brunt_testkit::alone;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const SERVICE: fn(u64) -> Duration = |number| if number % 10 == 9 { 12 * MS } else { 2 * MS };

/// Serves requests one at a time, the n-th for `service(n)`.
fn serial_web(service: fn(u64) -> Duration) -> SocketAddr {
    serial_of(service, |stream: &mut TcpStream| {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        Some(ok("hello").into_bytes())
    })
}

#[test]
fn response_times_of_an_open_loop_follow_lindley() {
    let _turn = alone();
    for arrival in [Arrival::Constant, Arrival::Poisson] {
        let mut failures = Vec::new();
        loop {
            let options = Options {
                rate: Some(200.0),
                arrival,
                connections: 8,
                duration: Duration::from_secs(1),
                ..short(get(serial_web(SERVICE)))
            };
            let expected = lindley(&options, SERVICE);
            // A reference client shows what this machine adds at this moment. A disturbed run is repeated with the same bounds.
            let control = control(&options, &serial(Protocol::Tcp, SERVICE), false);
            let result = run(&options).result;
            let control = control.join().unwrap();
            assert_eq!(result.errors.total(), 0);
            assert_eq!(result.latency.response.count, expected.len() as u64);
            let response = &result.latency.response;
            let figures = [(0.5, response.p50_us), (0.9, response.p90_us), (1.0, response.max_us)];
            let agrees = figures.iter().all(|(q, measured)| {
                let (measured, expected, control) =
                    (measured.unwrap(), quantile(&expected, *q), quantile(&control.response, *q));
                measured >= expected * 0.9 - 1_000.0 && measured <= expected.max(control) * 1.15 + 3_000.0
            });
            if agrees {
                break;
            }
            failures.push(format!("{arrival:?}: {response:?}"));
            assert!(failures.len() < 10, "{failures:#?}");
        }
    }
}

#[test]
fn requests_of_a_pipeline_queue_at_the_target() {
    let _turn = alone();
    // One in twenty delays those behind it.
    let service = |number| if number % 20 == 19 { 40 * MS } else { MS };
    let http = asks_as(serial_web(service), &template(), &[goal("/", 1)], Pipeline::Single(256), None);
    let options = Options {
        rate: Some(150.0),
        connections: 1,
        duration: Duration::from_secs(1),
        timeout: Duration::from_secs(5),
        ..short(http)
    };
    let expected = lindley(&options, service);
    let result = run(&options).result;
    assert_eq!(result.errors.total(), 0);
    // A busy machine only adds time.
    let response = &result.latency.response;
    for (q, measured) in [(0.5, response.p50_us), (0.9, response.p90_us), (1.0, response.max_us)] {
        assert!(measured.unwrap() >= quantile(&expected, q) * 0.9 - 1_000.0, "{q}: {response:?}");
    }
    // Without queueing, nine in ten would be as short as their service.
    let (service, long) = (&result.latency.service, quantile(&expected, 0.9));
    assert!(long > 10_000.0 && service.p90_us.unwrap() > long / 2.0, "{service:?} of {long}");
}
