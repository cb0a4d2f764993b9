//! Response times against queueing theory: a serial target with known service times, and the Lindley recursion on the
//! same pure schedule. A generator that measures from the send, shifts its schedule, or omits what it could not send
//! fails here by factors.

use crate::shared::*;
use brunt_load::{Arrival, Options};
use brunt_results::{RunResult, verdict::Kind};
use brunt_runtime::net::Address;
use brunt_testkit::alone;
use std::io::{Read, Write};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How far a measured quantile may be from the expected one: microseconds, and a share of it. Waiting for a processor only
/// adds time: below, the expected quantile is theory's; above, it is that of a reference client that runs at the same moment,
/// if that is higher.
const BELOW: (f64, f64) = (1_000.0, 0.1);
const ABOVE: (f64, f64) = (3_000.0, 0.15);

fn close(what: &str, measured: Option<f64>, expected: f64, control: f64) -> Result<(), String> {
    let measured = measured.ok_or_else(|| format!("{what} is missing"))?;
    let least = expected - BELOW.0 - BELOW.1 * expected;
    let most = expected.max(control) * (1.0 + ABOVE.1) + ABOVE.0;
    match measured >= least && measured <= most {
        true => Ok(()),
        false => Err(format!(
            "{what}: measured {measured:.0} us, expected {expected:.0} us, the reference client {control:.0} us, allowed \
             {least:.0} to {most:.0} us"
        )),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, measured: T, expected: T) -> Result<(), String> {
    match measured == expected {
        true => Ok(()),
        false => Err(format!("{what}: {measured:?}, expected {expected:?}")),
    }
}

/// Runs `options` against a fresh serial target until all quantiles agree with theory, and `check` with the rest.
#[track_caller]
fn assert_lindley(
    options: impl Fn(Address) -> Options,
    service: fn(u64) -> Duration,
    check: impl Fn(&RunResult, &Control) -> Result<(), String>,
) {
    let _turn = alone();
    for protocol in PROTOCOLS {
        attempt(|| {
            let options = options(serial(protocol, service));
            let expected = lindley(&options, service);
            let control = control(&options, &serial(protocol, service), false);
            let result = run(&options).result;
            let control = control.join().unwrap();
            // Every request of the schedule is accounted for, answered or not.
            let count = expected.len() as u64;
            same("responses", result.latency.response.count, count)?;
            same("requests", result.requests.completed + result.requests.unanswered, count)?;
            let response = &result.latency.response;
            for (what, q, measured) in [
                ("p50", 0.5, response.p50_us),
                ("p90", 0.9, response.p90_us),
                ("p99", 0.99, response.p99_us),
                ("max", 1.0, response.max_us),
            ] {
                close(what, measured, quantile(&expected, q), quantile(&control.response, q))?;
            }
            let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
            close("mean", response.mean_us, mean(&expected), mean(&control.response))?;
            close("lag p90", result.latency.lag.p90_us, 0.0, quantile(&control.lag, 0.9))?;
            check(&result, &control)
        });
    }
}

/// 70 % busy with 5 ms each.
fn poisson(address: Address) -> Options {
    Options {
        rate: Some(140.0),
        arrival: Arrival::Poisson,
        duration: Duration::from_millis(1500),
        connections: 64,
        ..options(address)
    }
}

fn five_ms(_: u64) -> Duration {
    5 * MS
}

#[test]
fn poisson_arrivals_queue_as_in_theory() {
    assert_lindley(poisson, five_ms, |result, _| {
        // With a connection for each, requests queue at the target: service time is response time.
        let (service, response) = (&result.latency.service, &result.latency.response);
        let expected = response.p90_us.unwrap_or_default();
        close("service p90", service.p90_us, expected, expected)?;
        same("waited", result.requests.waited, Some(0))
    });
}

#[test]
fn with_one_connection_requests_wait_in_the_generator_with_equal_response_times() {
    let one = |address| Options { connections: 1, ..poisson(address) };
    assert_lindley(one, five_ms, |result, control| {
        close("service p99", result.latency.service.p99_us, 5_000.0, quantile(&control.service, 0.99))?;
        same("many waited", result.requests.waited >= Some(50), true)
    });
}

#[test]
fn bimodal_service_times_over_two_threads() {
    // One in ten takes 20 ms, the others 2 ms: 3.8 ms on average, 57 % busy.
    fn bimodal(number: u64) -> Duration {
        match number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 {
            hash if hash % 10 == 0 => 20 * MS,
            _ => 2 * MS,
        }
    }
    let two_threads = |address| Options { rate: Some(150.0), threads: vec![None, None], ..poisson(address) };
    assert_lindley(two_threads, bimodal, |_, _| Ok(()));
}

#[test]
fn constant_arrivals_below_saturation_never_queue() {
    let constant = |address| Options {
        rate: Some(100.0),
        arrival: Arrival::Constant,
        duration: Duration::from_millis(800),
        connections: 4,
        ..options(address)
    };
    assert_lindley(constant, five_ms, |result, _| {
        same("offered", result.requests.offered_rate, Some(100.0))?;
        same("rate is near", (result.requests.rate - 100.0).abs() <= 10.0, true)
    });
}

#[test]
fn a_stall_delays_every_request_due_during_it() {
    // 0.4 s of nothing in a run of 1.2 s: a third of all requests are due while the target stalls, and the k-th last of
    // them waits k gaps. With four connections all but four are never sent until it is over.
    fn stall(number: u64) -> Duration {
        if number == 120 { 400 * MS } else { Duration::ZERO }
    }
    let stalled = |address| Options {
        rate: Some(300.0),
        arrival: Arrival::Constant,
        duration: Duration::from_millis(1200),
        connections: 4,
        ..options(address)
    };
    assert_lindley(stalled, stall, |result, _| {
        let waited = result.requests.waited.unwrap_or_default();
        same("about 116 waited", (100..=200).contains(&waited), true)
    });
}

#[test]
fn overload_leaves_requests_unanswered_and_does_not_slow_the_schedule() {
    // 10 ms each at 200/s: half of them can be served in the window. Answered request k has waited 5k ms; one without an
    // answer at least from its intended time to the window's end.
    let mut expected: Vec<f64> = (0..100).map(|k| (10.0 + 5.0 * k as f64) * 1e3).collect();
    expected.extend((100..200).map(|k| (1000.0 - 5.0 * k as f64) * 1e3));
    expected.sort_unstable_by(f64::total_cmp);
    let _turn = alone();
    for protocol in PROTOCOLS {
        attempt(|| {
            let ten_ms = |_| 10 * MS;
            let options = Options { rate: Some(200.0), connections: 1, ..options(serial(protocol, ten_ms)) };
            let control = control(&options, &serial(protocol, ten_ms), true);
            let result = run(&options).result;
            let control = control.join().unwrap();
            let (requests, response) = (&result.requests, &result.latency.response);
            same("requests", requests.completed + requests.unanswered, 200)?;
            same("responses", response.count, 200)?;
            same("verdict", result.verdict.kind, Kind::RateMissed)?;
            close("p50", response.p50_us, quantile(&expected, 0.5), quantile(&control.response, 0.5))?;
            close("p99", response.p99_us, quantile(&expected, 0.99), quantile(&control.response, 0.99))?;
            let least = control.completed.min(100) * 9 / 10;
            same("as many as the reference client", (least..=101).contains(&requests.completed), true)
        });
    }
}

#[test]
fn a_closed_loop_follows_littles_law() {
    let _turn = alone();
    for protocol in PROTOCOLS {
        attempt(|| {
            let duration = Duration::from_millis(800);
            let options = Options { connections: 4, duration, ..options(serial(protocol, five_ms)) };
            let control = closed_control(&serial(protocol, five_ms), 4, duration);
            let result = run(&options).result;
            let (rate, p50) = control.join().unwrap();
            let (requests, latency) = (&result.requests, &result.latency);
            same("lag", latency.lag.max_us, Some(0.0))?;
            same("unanswered", requests.unanswered, 4)?;
            same("responses", latency.response.count, latency.service.count + 4)?;
            // Four connections, 5 ms each one after the other: 200/s, and each reply takes 20 ms.
            let least = rate.min(200.0) * 0.92;
            same("as fast as the reference client", (least..=201.0).contains(&requests.rate), true)?;
            close("p50", latency.response.p50_us, 20_000.0, p50)
        });
    }
}

/// Rate and median response time, in microseconds, of a blocking client on each of `connections`.
fn closed_control(address: &Address, connections: usize, duration: Duration) -> JoinHandle<(f64, f64)> {
    let peers: Vec<Peer> = (0..connections).map(|_| Peer::connect(address)).collect();
    std::thread::spawn(move || {
        let begun = Instant::now();
        let client = |mut peer: Peer| {
            std::thread::spawn(move || {
                let (mut times, mut message) = (Vec::new(), [0; SIZE]);
                while begun.elapsed() < duration {
                    let sent = Instant::now();
                    peer.write_all(&message).unwrap();
                    peer.read_exact(&mut message).unwrap();
                    times.push(sent.elapsed().as_secs_f64() * 1e6);
                }
                times
            })
        };
        let clients: Vec<_> = peers.into_iter().map(client).collect();
        let mut times: Vec<f64> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        times.sort_unstable_by(f64::total_cmp);
        ((times.len() - connections) as f64 / duration.as_secs_f64(), quantile(&times, 0.5))
    })
}
