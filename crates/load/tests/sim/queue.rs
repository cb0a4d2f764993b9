//! Open loops against targets that make requests wait: a serial queue, a stall, a pause of the host. Response times are those of
//! Lindley's recursion, to the nanosecond.

use crate::targets::{serial, serve};
use crate::worlds::{LAG, LEARNING, MS, Run, US, WAY, exact, histogram, open, options, run, times, values};
use brunt_load::Options;
use brunt_results::LatencySummary;
use brunt_runtime::net::TcpStream;
use brunt_runtime::sim::Link;
use brunt_runtime::time;
use std::{cell::Cell, rc::Rc, time::Duration};

/// Numbers that repeat for no test's length.
fn random(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
}

/// Service times of 10 to 330 us.
fn service(number: u64) -> Duration {
    10 * US * (1 + random(number) as u32 % 33)
}

#[test]
fn response_times_at_a_queue_are_those_of_lindleys_recursion() {
    let mut at = 0;
    let due: Vec<u64> = (0..)
        .map(|number| {
            at += if number <= u64::from(LEARNING) { 400_000 } else { 20_000 * (random(number + 1_000_000) % 20) };
            at
        })
        .take_while(|at| *at < 1_790_000_000)
        .collect();
    let warmup = LEARNING * 400 * US + 390 * US;
    let options =
        Options { rate: Some(5000.0), replay: Some(due.clone().into()), warmup, connections: 1000, ..options() };
    // Ways of 13 us, and 5 us before a request can be served: so none comes while a worker is awake for another one.
    let (world, way) = (exact(1), WAY + 6 * US);
    world.change(|settings| settings.link = Link::with_latency(13 * US));
    let Run { report, responses } = run(&world, &options, serial(5 * US, service));
    let mut free = Duration::ZERO;
    let expected = (0..).zip(&due).map(|(number, at)| {
        let at = Duration::from_nanos(*at);
        free = free.max(at + 5 * US) + service(number);
        free - at + LAG + US + way
    });
    let expected = expected.skip(LEARNING as usize).collect::<Vec<_>>();
    assert!(expected.iter().any(|time| *time > 2 * MS) && expected.contains(&(15 * US + LAG + US + way)));
    let result = report.result;
    assert_eq!((result.requests.completed, result.requests.waited), (expected.len() as u64, Some(0)));
    assert_eq!(values(&responses), values(&histogram(expected.iter().copied())));
    assert_eq!(result.latency.lag, LatencySummary::of(&times(expected.len() as u64, LAG)));
}

/// A target that does nothing for 950 ms, from the moment at which it reads message number `nth`.
async fn stalls(nth: u32) {
    let count = Rc::new(Cell::new(0));
    serve(move |mut stream: TcpStream| {
        let count = count.clone();
        async move {
            while let Ok(bytes) = stream.recv().await {
                if bytes.is_empty() {
                    return;
                }
                if count.replace(count.get() + 1) == nth {
                    time::advance(950 * MS).await;
                }
                if stream.send(bytes).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
}

#[test]
fn a_stall_of_950_ms_gives_exactly_its_histogram() {
    let options = Options { duration: Duration::from_secs(2), ..open(50.0, 100, 1) };
    let Run { report, responses } = run(&exact(1), &options, stalls(LEARNING + 5));
    // Request 5 is due after 100 ms, and those that are due until the stall is over wait for that.
    // The stall ends in a turn of its own.
    let waits = |due: Duration| 1050 * MS - due + LAG + WAY + US;
    let expected = (0..100).map(|number| number * 20 * MS);
    let expected = expected.map(|due| if (100 * MS..1050 * MS).contains(&due) { waits(due) } else { LAG + WAY });
    assert_eq!(values(&responses), values(&histogram(expected)));
    let result = report.result;
    assert_eq!((result.requests.completed, result.requests.waited), (100, Some(0)));
    assert_eq!(result.latency.lag, LatencySummary::of(&times(100, LAG)));
}

#[test]
fn a_pause_of_the_host_is_lag_and_not_the_targets() {
    let world = exact(1);
    let host = world.clone();
    let count = Rc::new(Cell::new(0));
    let target = serve(move |mut stream: TcpStream| {
        let (host, count) = (host.clone(), count.clone());
        async move {
            while let Ok(bytes) = stream.recv().await {
                // It arrives a turn and a link after it is sent, and there are 500 us until the pause.
                if count.replace(count.get() + 1) == LEARNING + 500 {
                    host.pause(host.elapsed() - LAG - 11 * US + 500 * US, 100 * MS);
                }
                if bytes.is_empty() || stream.send(bytes).await.is_err() {
                    return;
                }
            }
        }
    });
    let Run { report, responses } = run(&world, &open(1000.0, 1000, 1), target);
    // Of the 100 requests that are due in the pause, all are sent when it is over.
    let late = (1..=100).map(|number| 100 * MS + 500 * US - number * MS + LAG + US);
    let (long, short): (Vec<_>, Vec<_>) = values(&responses).into_iter().partition(|(time, _)| *time > 100 * US);
    assert_eq!(long, values(&histogram(late.map(|late| late + WAY))));
    assert_eq!(short.iter().map(|(_, count)| count).sum::<u64>(), 900);
    // The dispatcher learns from its late sleep, and wakes up earlier for a while.
    assert!(short.iter().all(|(time, _)| (LAG + WAY..LAG + WAY + US + US).contains(time)), "{short:?}");
    let result = report.result;
    assert_eq!(result.latency.service, LatencySummary::of(&times(1000, WAY)));
    assert_eq!((result.requests.completed, result.requests.waited, result.errors.total()), (1000, Some(0), 0));
    let lags = (1..=100).map(|number| 100 * MS + 500 * US - number * MS + LAG + US);
    assert_eq!(result.latency.lag.max_us, LatencySummary::of(&histogram(lags)).max_us);
}
