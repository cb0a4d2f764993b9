//! HTTP/1: constant replies, delays, pipelines, ramps, pauses of the host.

use crate::targets::{get, hello, reply, serve};
use crate::worlds::{
    FIRST, HANDSHAKE, LAG, MS, Run, SECOND, US, WAY, exact, histogram, open, options, run, times, values,
};
use brunt_load::http::Pipeline;
use brunt_load::schedule::{Profile, Schedule, Share};
use brunt_load::{Arrival, Options, Stage};
use brunt_results::LatencySummary;
use brunt_runtime::sim::{self, World};
use brunt_serve::http::handler::Response;
use std::{cell::RefCell, iter, time::Duration};

#[test]
fn a_closed_loop_makes_as_many_requests_as_there_is_time_for() {
    for (connections, threads) in [(1, 1), (10, 1), (10, 3)] {
        let threads = vec![None; threads];
        let options = Options { connections, threads, ..options(get(Pipeline::NONE, None)) };
        let Run { report, responses, server } = run(&exact(), &options, hello(2)).unwrap();
        let (result, connections) = (report.result, connections as u64);
        let count = 45_454 * connections;
        let requests = &result.requests;
        assert_eq!((requests.completed, requests.failed, requests.unanswered), (count, 0, connections));
        assert_eq!(values(&responses), values(&times(count, WAY)));
        let responses = result.responses.unwrap();
        assert_eq!(responses.statuses.iter().collect::<Vec<_>>(), [(&"200".to_owned(), &count)]);
        assert_eq!((server.accepted, server.failed, server.cut), (connections, 0, 0));
    }
}

#[test]
fn a_delay_is_the_service_time() {
    let target = || get(Pipeline::NONE, None);
    let (each, closed, due) = (76 * US + WAY, options(target()), open(target(), 1000.0, 10, 1));
    for (options, count, lag) in [(closed, 10_204, Duration::ZERO), (due, 1000, LAG)] {
        let (serve, seen) = serve(|_| Response { delay: 75 * US, ..reply() }, 1);
        let Run { report, responses, server } = run(&exact(), &options, serve).unwrap();
        let result = report.result;
        assert_eq!((result.requests.completed, result.requests.failed), (count, 0));
        assert_eq!(values(&responses), values(&times(count, lag + each)));
        assert_eq!(result.latency.service, LatencySummary::of(&times(count, each)));
        assert_eq!(result.latency.lag, LatencySummary::of(&times(count, lag)));
        assert_eq!((server.accepted, server.failed, server.cut), (options.connections as u64, 0, 0));
        let sent: u64 = report.seconds.iter().map(|second| second.sent).sum();
        assert_eq!(seen.requests(), sent);
    }
}

/// A batch is answered in one turn of the server.
#[test]
fn the_requests_of_a_batch_are_answered_together() {
    let options = Options { connections: 2, ..options(get(Pipeline::Batches(16), None)) };
    let Run { report, responses, .. } = run(&exact(), &options, hello(1)).unwrap();
    let requests = report.result.requests;
    assert_eq!((requests.completed, requests.unanswered), (45_454 * 32, 32));
    assert_eq!(values(&responses), values(&times(45_454 * 32, WAY)));
}

/// Up to four requests are in flight on the only connection: the next one is sent when it is due.
#[test]
fn a_pipeline_of_an_open_loop_has_its_requests_in_flight() {
    let options = open(get(Pipeline::Single(4), None), 10_000.0, 1, 1);
    let (serve, seen) = serve(|_| Response { delay: 80 * US, ..reply() }, 1);
    let Run { report, responses, .. } = run(&exact(), &options, serve).unwrap();
    let result = report.result;
    // The last one of the warm-up ends in the window, and the last one of the window behind it.
    assert_eq!((result.requests.completed, result.requests.unanswered), (10_000, 1));
    assert_eq!((result.requests.waited, result.errors.total()), (Some(0), 0));
    assert_eq!(values(&responses), values(&times(9_999, LAG + 81 * US + WAY)));
    assert_eq!(result.latency.response, LatencySummary::of(&times(10_000, LAG + 81 * US + WAY)));
    assert_eq!(result.latency.lag, LatencySummary::of(&times(10_000, LAG)));
    assert_eq!(seen.requests(), 12_000);
}

/// In a closed loop a connection is opened when the one before has ended, in an open one when it has a request.
#[test]
fn connections_are_closed_after_their_requests() {
    let target = || get(Pipeline::NONE, Some(10));
    let closed = Options { connections: 4, ..options(target()) };
    for (options, lag) in [(closed, Duration::ZERO), (open(target(), 1000.0, 4, 1), LAG)] {
        let (serve, seen) = serve(|_| reply(), 1);
        let Run { report, server, responses } = run(&exact(), &options, serve).unwrap();
        let (result, first) = (report.result, HANDSHAKE + FIRST);
        let sent: u64 = report.seconds.iter().map(|second| second.sent).sum();
        let [others, firsts] = if options.rate.is_some() {
            [900, 100]
        } else {
            // Ten on the connection that is open at first, then tens that begin with the first of a new one, a turn after the
            // server has sent its last reply: then it closes.
            let (tens, rest) = div(SECOND - 10 * WAY, US + first + 9 * WAY);
            let begun = u64::from(rest > US + first);
            let more = if begun > 0 { div(rest - US - first, WAY).0 } else { 0 };
            [4 * (10 + 9 * tens + more), 4 * (tens + begun)]
        };
        let mut expected = times(others, lag + WAY);
        expected.add(times(firsts, lag + first)).unwrap();
        assert_eq!(values(&responses), values(&expected));
        assert_eq!((result.requests.completed, result.errors.total()), (others + firsts, 0));
        assert_eq!((result.connections.opened, seen.requests()), (server.accepted, sent));
        assert_eq!((server.failed, server.cut), (0, 0));
    }
}

/// How often a time ends within another one, and what is left of it.
fn div(whole: Duration, part: Duration) -> (u64, Duration) {
    let count = (whole.as_nanos() - 1) / part.as_nanos();
    (count as u64, whole - part * count as u32)
}

/// A handler that blocks its worker.
#[test]
fn a_stall_of_950_ms_gives_exactly_its_histogram() {
    let stalls = |number| {
        if number == 2005 {
            sim::spend(950 * MS);
        }
        reply()
    };
    let options = Options { duration: 2 * SECOND, ..open(get(Pipeline::NONE, None), 50.0, 100, 1) };
    let Run { report, responses, server } = run(&exact(), &options, serve(stalls, 1).0).unwrap();
    // Request 5 is due after 100 ms. What arrives while it is served is read in the turn behind it.
    let waits = |due: Duration| 1050 * MS - due + LAG + WAY + if due > 100 * MS { US } else { Duration::ZERO };
    let expected = (0..100).map(|number| number * 20 * MS);
    let expected = expected.map(|due| if (100 * MS..1050 * MS).contains(&due) { waits(due) } else { LAG + WAY });
    assert_eq!(values(&responses), values(&histogram(expected)));
    let result = report.result;
    assert_eq!((result.requests.completed, result.requests.waited, result.errors.total()), (100, Some(0), 0));
    assert_eq!(result.latency.lag, LatencySummary::of(&times(100, LAG)));
    assert_eq!((server.accepted, server.failed, server.cut), (100, 0, 0));
}

/// When the requests of a load of one thread without a warm-up are due, in order.
fn due(options: &Options) -> Vec<Duration> {
    let share = Share { thread: 0, threads: 1, connections: options.connections, group: 1 };
    let profile = Profile::staged(Duration::ZERO, &options.stages);
    let mut schedule = Schedule::new(options.arrival, profile, options.seed, share);
    let end = options.duration.as_nanos() as u64;
    iter::from_fn(|| (schedule.peek() < end).then(|| Duration::from_nanos(schedule.take()))).collect()
}

#[test]
fn steps_of_stages_have_the_requests_that_are_due_in_them() {
    let stage = |from, to, length| Stage { from, to, length };
    let ramp = vec![stage(100.0, 1900.0, 2 * SECOND)];
    let three = vec![stage(200.0, 200.0, SECOND / 2), stage(1000.0, 1000.0, SECOND), stage(1000.0, 3000.0, SECOND / 2)];
    let ramped = [190.0, 370.0, 550.0, 730.0, 910.0, 1090.0, 1270.0, 1450.0, 1630.0, 1810.0];
    let rising = (0..10).map(|step| 1100.0 + 200.0 * f64::from(step));
    let then = [200.0, 1000.0].into_iter().chain(rising).collect::<Vec<f64>>();
    for (stages, mean, offered) in [(ramp, 1000.0, &ramped[..]), (three, 1050.0, &then)] {
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let options = options(get(Pipeline::NONE, None));
            let options = Options { duration: 2 * SECOND, rate: Some(mean), connections: 10, arrival, ..options };
            let options = Options { stages: stages.clone(), ..options };
            let (due, (serve, seen)) = (due(&options), serve(|_| reply(), 1));
            let result = run(&exact(), &options, serve).unwrap().report.result;
            let (requests, steps) = (&result.requests, &result.steps);
            assert_eq!(
                (requests.completed + requests.unanswered, seen.requests()),
                (due.len() as u64, due.len() as u64)
            );
            assert_eq!((result.errors.total(), requests.offered_rate), (0, Some(mean)));
            let rates = steps.iter().map(|step| step.offered_rate.unwrap().round()).collect::<Vec<_>>();
            assert_eq!(rates, offered);
            for step in steps {
                // A dispatcher that has not learnt wakes up to a turn late.
                let [soonest, latest] = [LAG + WAY, LAG + WAY + 2 * US].map(|after| {
                    let within = |at: &&Duration| (step.start_s..step.end_s).contains(&(**at + after).as_secs_f64());
                    due.iter().filter(within).count() as u64
                });
                assert!([soonest, latest].contains(&step.figures.completed), "{} to {}", step.start_s, step.end_s);
            }
        }
    }
}

thread_local! {
    /// The world that [`pauses`] pauses.
    static HOST: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Pauses the host for 100 ms, 500 us after request 2500 was sent: it arrives a turn and a link later.
fn pauses(number: u64) -> Response {
    if number == 2500 {
        HOST.with_borrow(|host| {
            let host = host.as_ref().unwrap();
            host.pause(host.elapsed() - LAG - 11 * US + 500 * US, 100 * MS);
        });
    }
    reply()
}

#[test]
fn a_pause_of_the_host_is_lag_and_not_the_servers() {
    let world = exact();
    HOST.set(Some(world.clone()));
    let options = open(get(Pipeline::NONE, None), 1000.0, 1000, 1);
    let Run { report, responses, server } = run(&world, &options, serve(pauses, 1).0).unwrap();
    HOST.set(None);
    // Of the 100 requests that are due in the pause, all are sent when it is over.
    let late = |number| 100 * MS + 500 * US - number * MS + LAG + US;
    let (long, short): (Vec<_>, Vec<_>) = values(&responses).into_iter().partition(|(time, _)| *time > 100 * US);
    assert_eq!(long, values(&histogram((1..=100).map(|number| late(number) + WAY))));
    assert_eq!(short.iter().map(|(_, count)| count).sum::<u64>(), 900);
    // The dispatcher learns from its late sleep, and wakes up earlier for a while.
    assert!(short.iter().all(|(time, _)| (LAG + WAY..LAG + WAY + 2 * US).contains(time)), "{short:?}");
    let result = report.result;
    assert_eq!(result.latency.service, LatencySummary::of(&times(1000, WAY)));
    assert_eq!((result.requests.completed, result.requests.waited, result.errors.total()), (1000, Some(0), 0));
    assert_eq!(result.latency.lag.max_us, LatencySummary::of(&histogram((1..=100).map(late))).max_us);
    assert_eq!((server.accepted, server.failed, server.cut), (1000, 0, 0));
}
