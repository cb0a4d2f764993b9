//! Closed and open loops: counts, service times, lag.

use crate::targets::echo_after;
use crate::worlds::{LAG, MS, Run, SECOND, US, WAY, exact, open, options, run, times, values};
use brunt_load::schedule::{Profile, Schedule, Share};
use brunt_load::{Arrival, Options, Stage};
use brunt_results::LatencySummary;
use std::{iter, time::Duration};

#[test]
fn a_closed_loop_makes_as_many_requests_as_there_is_time_for() {
    for (connections, threads, service) in
        [(1, 1, 0), (1, 1, 75), (1, 1, 975), (10, 1, 475), (10, 2, 475), (100, 1, 4975)]
    {
        let service = service * US;
        let options = Options { connections, threads: vec![None; threads], ..options() };
        let Run { report, responses } = run(&exact(1), &options, echo_after(service));
        // The sleep ends in a turn of its own.
        let each = WAY + if service.is_zero() { service } else { service + US };
        let result = report.result;
        let count = (SECOND.as_nanos() / each.as_nanos()) as u64 * connections as u64;
        let requests = &result.requests;
        assert_eq!((requests.completed, requests.failed, requests.unanswered), (count, 0, connections as u64));
        assert_eq!((requests.rate, result.load.measured_s), (count as f64, 1.0));
        assert_eq!(values(&responses), values(&times(count, each)), "{connections} {service:?}");
        assert_eq!(result.latency.service, LatencySummary::of(&times(count, each)));
        assert_eq!(result.latency.lag, LatencySummary::of(&times(count, Duration::ZERO)));
        assert_eq!((result.connections.opened, result.connections.peak), (connections as u64, connections as u64));
        assert_eq!(result.errors.total(), 0);
        assert_eq!(result.bytes.sent, (count + connections as u64) * 64);
    }
}

#[test]
fn an_open_loop_sends_each_request_when_it_is_due() {
    for (rate, connections, threads) in [(1.0, 1, 1), (100.0, 1, 1), (1000.0, 10, 1), (2000.0, 10, 2)] {
        let Run { report, responses } = run(&exact(1), &open(rate, connections, threads), echo_after(75 * US));
        let (result, count) = (report.result, rate as u64);
        let requests = &result.requests;
        assert_eq!((requests.completed, requests.failed, requests.unanswered), (count, 0, 0));
        assert_eq!((requests.waited, requests.offered_rate, requests.due), (Some(0), Some(rate), Some(count)));
        assert_eq!(values(&responses), values(&times(count, LAG + 76 * US + WAY)), "{rate}");
        assert_eq!(result.latency.service, LatencySummary::of(&times(count, 76 * US + WAY)));
        assert_eq!(result.latency.lag, LatencySummary::of(&times(count, LAG)));
    }
}

/// A window of one second has whole requests, also where their rate is no whole number, or below one a second.
#[test]
fn a_window_is_judged_by_the_requests_that_are_due_in_it() {
    for (rate, due) in [(0.1, 1), (0.5, 1), (1.5, 2), (2.7, 3), (33.3, 34)] {
        for threads in [1, 2] {
            let options = Options { warmup: Duration::ZERO, ..open(rate, 10, threads) };
            let result = run(&exact(1), &options, echo_after(75 * US)).report.result;
            let requests = &result.requests;
            assert_eq!((requests.completed, requests.due), (due, Some(due)), "{rate}");
            assert_eq!(requests.due_rate(result.load.measured_s), Some(requests.rate), "{rate}");
        }
    }
}

/// When the requests of a load of one thread are due, in order, until it ends.
fn due(options: &Options, profile: Profile) -> Vec<Duration> {
    let share = Share { thread: 0, threads: 1, connections: options.connections, group: 1 };
    let mut schedule = Schedule::new(options.arrival, profile, options.seed, share);
    let end = options.duration.as_nanos() as u64;
    iter::from_fn(|| (schedule.peek() < end).then(|| Duration::from_nanos(schedule.take()))).collect()
}

#[test]
fn requests_at_random_times_are_all_sent_within_two_turns() {
    let options = Options { arrival: Arrival::Poisson, ..open(1000.0, 100, 1) };
    let whole = Options { duration: options.warmup + options.duration, ..options.clone() };
    let due: Vec<_> = due(&whole, Profile::constant(1000.0)).into_iter().filter(|at| *at >= options.warmup).collect();
    let result = run(&exact(1), &options, echo_after(75 * US)).report.result;
    let answered = due.iter().filter(|at| **at + LAG + 76 * US + WAY < whole.duration).count() as u64;
    assert_eq!((result.requests.completed, result.requests.unanswered), (answered, due.len() as u64 - answered));
    let lag = result.latency.lag;
    assert_eq!((lag.count, lag.p50_us), (answered, Some(1.0)), "{lag:?}");
    assert!(lag.max_us <= Some(2.0), "{lag:?}");
}

#[test]
fn the_steps_of_a_ramp_have_the_requests_that_are_due_in_them() {
    let stages =
        vec![Stage { from: 100.0, to: 1900.0, length: SECOND }, Stage { from: 500.0, to: 500.0, length: SECOND }];
    let profile = Profile::staged(Duration::ZERO, &stages);
    let options = Options { rate: Some(750.0), stages, duration: 2 * SECOND, connections: 10, ..options() };
    let due = due(&options, profile);
    assert_eq!(due.len(), 1500);
    let result = run(&exact(1), &options, echo_after(75 * US)).report.result;
    assert_eq!((result.requests.completed, result.steps.len()), (1500, 11));
    for step in &result.steps {
        let within = |at: &&Duration| (step.start_s..step.end_s).contains(&(**at + LAG + 76 * US + WAY).as_secs_f64());
        let count = due.iter().filter(within).count() as u64;
        assert_eq!(step.figures.completed, count, "{} to {}", step.start_s, step.end_s);
    }
}

#[test]
fn what_the_warm_up_makes_is_not_in_the_result() {
    for rate in [None, Some(1000.0)] {
        let options = Options { rate, warmup: 250 * MS, ..options() };
        let Run { report, .. } = run(&exact(1), &options, echo_after(475 * US));
        let warm: u64 = report.seconds.iter().filter(|second| second.warmup).map(|second| second.completed).sum();
        let each = if rate.is_some() { 1000 } else { 498 };
        assert_eq!(warm, 250_000 / each, "{rate:?}");
        assert_eq!(warm + report.result.requests.completed, 1_250_000 / each, "{rate:?}");
    }
}
