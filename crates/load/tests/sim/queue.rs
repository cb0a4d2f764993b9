//! Open loops against targets that make requests wait: a serial queue, a stall, a pause of the host. Response times are those of
//! Lindley's recursion, to the nanosecond.

use crate::targets::{Stream, serial, serve};
use crate::worlds::{
    LAG, LEARNING, MS, Run, US, WAY, addresses, exact, histogram, on, open, options, run, times, values,
};
use brunt_load::Options;
use brunt_results::{LatencySummary, verdict::Kind};
use brunt_runtime::sim::Link;
use brunt_runtime::time;
use std::{cell::Cell, iter::repeat_n, rc::Rc, time::Duration};

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
    serve(move |mut stream: Stream| {
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
    let target = serve(move |mut stream: Stream| {
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

/// Due times at random: so many requests that are far apart, then others until shortly before the end of a window of a second.
fn random_due(learning: u64) -> Vec<u64> {
    let mut at = 0;
    let due = (0..).map(|number| {
        at += if number <= learning { 400_000 } else { 20_000 * (1 + random(number + 1_000_000) % 20) };
        at
    });
    due.take_while(|at| *at < learning * 400_000 + 990_000_000).collect()
}

/// A load of these due times, whose window opens behind the requests that are far apart.
fn replayed(due: &[u64], learning: u64, load: Options) -> Options {
    let warmup = Duration::from_nanos(learning * 400_000 + 390_000);
    Options { rate: Some(5000.0), replay: Some(due.to_vec().into()), warmup, ..load }
}

/// One in ten takes twenty times as long.
fn bimodal(number: u64) -> Duration {
    if random(number).is_multiple_of(10) { 800 * US } else { 40 * US }
}

#[test]
fn response_times_of_two_threads_at_one_queue_are_those_of_lindleys_recursion() {
    let learning = 2 * u64::from(LEARNING);
    let due = random_due(learning);
    let options = replayed(&due, learning, Options { connections: 1000, threads: vec![None, None], ..options() });
    let (world, way) = (exact(1), WAY + 6 * US);
    world.change(|settings| settings.link = Link::with_latency(13 * US));
    let Run { report, responses } = run(&world, &options, serial(5 * US, bimodal));
    let mut free = Duration::ZERO;
    let expected = (0..).zip(&due).map(|(number, at)| {
        let at = Duration::from_nanos(*at);
        free = free.max(at + 5 * US) + bimodal(number);
        free - at + LAG + US + way
    });
    let expected = expected.skip(learning as usize).collect::<Vec<_>>();
    assert!(expected.iter().any(|time| *time > 2 * MS));
    assert_eq!((report.result.requests.completed, report.result.requests.waited), (expected.len() as u64, Some(0)));
    assert_eq!(values(&responses), values(&histogram(expected)));
}

#[test]
fn with_one_connection_requests_wait_in_the_generator_as_long_as_they_would_at_the_target() {
    let learning = u64::from(LEARNING);
    let due = random_due(learning);
    let options = replayed(&due, learning, options());
    let (world, way) = (exact(1), WAY + 2 * US);
    world.change(|settings| settings.link = Link::with_latency(11 * US));
    let Run { report, responses } = run(&world, &options, serial(5 * US, service));
    // A request is sent when it is due or when the one before it has its reply.
    let (mut reply, mut waited) = (Duration::ZERO, 0);
    let (mut response, mut services) = (Vec::new(), Vec::new());
    for (number, at) in (0..).zip(&due) {
        let (at, took) = (Duration::from_nanos(*at), 5 * US + service(number) + US + way);
        waited += u64::from(number >= learning && reply > at);
        reply = reply.max(at + LAG) + took;
        response.push(reply - at);
        services.push(took);
    }
    let result = report.result;
    let (response, services) = (&response[learning as usize..], &services[learning as usize..]);
    assert!(waited > response.len() as u64 / 4, "{waited}");
    assert_eq!((result.requests.completed, result.requests.waited), (response.len() as u64, Some(waited)));
    assert_eq!(values(&responses), values(&histogram(response.iter().copied())));
    assert_eq!(result.latency.service, LatencySummary::of(&histogram(services.iter().copied())));
}

#[test]
fn overload_leaves_requests_unanswered_and_does_not_slow_the_schedule() {
    for address in addresses() {
        let load = Options { rate: Some(200.0), ..on(address, options()) };
        let report = run(&exact(1), &load, serial(Duration::ZERO, |_| 10 * MS)).report;
        // Half of them can be served in the window: the k-th reply comes 10 ms and a little after the one before.
        let requests = &report.result.requests;
        assert_eq!((requests.completed, requests.unanswered, requests.abandoned), (99, 101, 100));
        assert_eq!((requests.offered_rate, requests.waited), (Some(200.0), Some(199)));
        assert_eq!(report.result.verdict.kind, Kind::RateMissed);
        // Answered request k has waited 5k ms and more; one without an answer from its intended time to the window's end, and at
        // least as long as the longest answered.
        let expected =
            (0..200).map(|k| if k < 100 { 10.0 + 5.0 * k as f64 } else { (1000.0 - 5.0 * k as f64).max(505.0) });
        let mut expected: Vec<f64> = expected.map(|ms| ms * 1e3).collect();
        expected.sort_unstable_by(f64::total_cmp);
        let response = &report.result.latency.response;
        assert_eq!((response.count, response.censored), (200, 100));
        assert_eq!(["p50", "p90"].map(|figure| response.is_bound(figure)), [false, true]);
        for (measured, rank) in [(response.p50_us, 100), (response.p90_us, 180), (response.p99_us, 198)] {
            let (measured, expected) = (measured.unwrap(), expected[rank - 1]);
            // The turns and ways of up to a hundred exchanges, and the resolution of the histogram.
            assert!((expected - 500.0..expected * 1.001 + 3000.0).contains(&measured), "{rank}: {measured} {expected}");
        }
    }
}

#[test]
fn a_closed_loop_at_a_queue_follows_littles_law() {
    let load = Options { connections: 4, ..options() };
    let Run { report, responses } = run(&exact(1), &load, serial(Duration::ZERO, |_| 5 * MS));
    // Four connections, 5 ms each one after the other: 200 a second, and each reply takes 20 ms but for the first ones.
    let first = (1..=4).map(|number| number * 5 * MS + US + WAY);
    let expected = first.chain(repeat_n(20 * MS, 195));
    assert_eq!(values(&responses), values(&histogram(expected)));
    let requests = &report.result.requests;
    assert_eq!((requests.completed, requests.unanswered), (199, 4));
    assert_eq!(report.result.latency.lag, LatencySummary::of(&times(199, Duration::ZERO)));
}

#[test]
fn after_a_stall_requests_that_wait_in_the_generator_are_sent_in_turn() {
    // 0.4 s of nothing with a hundred requests due meanwhile, and four connections: all but four are never sent until it is over.
    let stall = |number| if number == u64::from(LEARNING) + 25 { 400 * MS } else { Duration::ZERO };
    let Run { report, responses } = run(&exact(1), &open(250.0, 4, 1), serial(Duration::ZERO, stall));
    let result = report.result;
    assert_eq!((result.requests.completed, result.requests.waited), (250, Some(97)));
    // Request 25 is due after 100 ms. The others wait behind it, four in a round trip, also the one that is due when it ends.
    let way = WAY + US;
    let expected = (0..250u32).map(|number| match number {
        25..=125 => 500 * MS + LAG + way * (1 + (number - 25) / 4) - number * 4 * MS,
        _ => LAG + way,
    });
    assert_eq!(values(&responses), values(&histogram(expected)));
}
