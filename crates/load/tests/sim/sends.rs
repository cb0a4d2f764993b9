//! The shape of the sends of an open loop, ticks, and the connections that take requests.

use crate::targets::echo_after;
use crate::worlds::{LAG, MS, Run, SECOND, US, WAY, exact, fails, open, options, run, times, values};
use brunt_load::{Arrival, Direct, Options, Report};
use brunt_results::result::{Rest, Sends};
use brunt_results::{LatencySummary, Span, latency::new_histogram};
use brunt_spec::Spread;
use std::time::Duration;

/// From the time at which a request is sent until its reply, of a target that takes 75 us.
const EACH: Duration = Duration::from_micros(76).saturating_add(WAY);

fn spread(spread: Spread, options: Options) -> Options {
    Options { direct: Direct { spread: Some(spread), ..Direct::default() }, ..options }
}

fn ticks(tick: Duration, options: Options) -> Options {
    Options { direct: Direct { send_tick: Some(Span(tick)), ..Direct::default() }, ..options }
}

fn report(options: &Options) -> Report {
    run(&exact(1), options, echo_after(75 * US)).report
}

#[test]
fn sends_at_constant_gaps_are_one_at_a_time_and_turns_rest_for_connections_over_rate() {
    for (rate, connections, threads) in [(1000.0, 10, 1), (1000.0, 10, 2), (100.0, 1, 1)] {
        let result = report(&spread(Spread::Turns, open(rate, connections, threads))).result;
        let rest_us = (connections as u64 * 1_000_000 / rate as u64 - (LAG + EACH).as_micros() as u64) as f64;
        let Sends { rest, .. } = result.sends.clone().unwrap();
        let Rest { mean_us, p50_us, max_us } = rest.unwrap();
        assert_eq!((mean_us, max_us), (rest_us, rest_us));
        assert!((p50_us / rest_us - 1.0).abs() < 0.04, "{p50_us}");
        let expected = Sends {
            count: rate as u64,
            wakeups: rate as u64,
            per_wakeup_mean: 1.0,
            per_wakeup_p99: 1.0,
            rest,
            ..Sends::default()
        };
        assert_eq!(result.sends, Some(expected));
        assert_eq!((result.load.spread.as_deref(), result.load.send_tick_us), (Some("turns"), None));
    }
}

#[test]
fn a_closed_loop_has_no_shape_and_takes_no_settings_of_one() {
    let result = report(&options()).result;
    assert_eq!((result.sends, result.load.spread), (None, None));
    let target = || echo_after(75 * US);
    let error = fails(&exact(1), &ticks(MS, options()), target()).to_string();
    assert!(error.starts_with("--send-tick 1ms: ") && error.ends_with("give -R, or leave it out"), "{error}");
    let error = fails(&exact(1), &spread(Spread::Random, options()), target()).to_string();
    assert!(error.starts_with("--spread random: "), "{error}");
}

#[test]
fn at_each_tick_all_that_is_due_is_sent() {
    // The dispatcher learns from ticks.
    let options = Options { warmup: 2 * SECOND, ..ticks(MS, open(10_000.0, 20, 1)) };
    let Run { report, responses } = run(&exact(1), &options, echo_after(75 * US));
    let result = report.result;
    let sends = result.sends.unwrap();
    // The first of each tick comes long after the one before.
    assert_eq!((sends.count, sends.wakeups, sends.per_wakeup_mean, sends.per_wakeup_p99), (10_000, 1000, 10.0, 10.0));
    assert_eq!((sends.close_percent, sends.scheduled_close_percent, sends.clumped), (90.0, 0.0, true));
    assert_eq!(result.load.send_tick_us, Some(1000.0));
    // Lag counts from the tick, response times from the intended times, a tenth of the requests at each tenth of a tick. Those that were
    // intended in the warm-up have none, and those that are to be sent after the window are none of it.
    assert_eq!(result.latency.lag, LatencySummary::of(&times(9991, LAG)));
    let requests = &result.requests;
    assert_eq!((requests.completed, requests.failed, requests.abandoned, requests.waited), (10_000, 0, 0, Some(0)));
    let mut expected = new_histogram();
    for tenth in 0..10 {
        expected.add(times(if tenth == 0 { 1000 } else { 999 }, tenth * 100 * US + LAG + EACH)).unwrap();
    }
    assert_eq!(values(&responses), values(&expected));
}

#[test]
fn random_arrivals_are_as_close_as_their_schedule() {
    let options = Options { arrival: Arrival::Poisson, ..open(20_000.0, 100, 1) };
    let sends = report(&options).result.sends.unwrap();
    // 1 - exp(-0.2)
    assert!((sends.scheduled_close_percent - 18.1).abs() < 1.0, "{sends:?}");
    assert!((sends.close_percent - sends.scheduled_close_percent).abs() < 2.0 && !sends.clumped, "{sends:?}");
}

#[test]
fn a_generator_that_stands_still_has_clumps() {
    let world = exact(1);
    let options = open(2000.0, 400, 1);
    world.pause(options.warmup + 500 * MS, 150 * MS);
    let sends = run(&world, &options, echo_after(75 * US)).report.result.sends.unwrap();
    // The 300 that became due meanwhile are one wake-up.
    assert!((1700..=1702).contains(&sends.wakeups), "{sends:?}");
    assert_eq!((sends.count, sends.per_wakeup_p99), (2000, 1.0));
    assert!(sends.clumped && sends.close_percent > 14.0 && sends.scheduled_close_percent == 0.0, "{sends:?}");
}

#[test]
fn requests_that_wait_for_a_connection_are_left_out() {
    // Two connections can carry 200 a second.
    let options = Options { rate: Some(1000.0), connections: 2, ..options() };
    let result = run(&exact(1), &options, echo_after(9977 * US)).report.result;
    let sends = result.sends.unwrap();
    assert!(sends.count <= 3 && result.requests.completed > 190, "{sends:?}");
}

#[test]
fn random_choices_follow_from_the_seed_and_rest_as_chance_has_it() {
    let load = |seed| report(&Options { seed, ..spread(Spread::Random, open(2000.0, 20, 1)) }).result;
    let [one, same, other] = [7, 7, 8].map(load);
    assert_eq!(one, same);
    assert_ne!(one.sends, other.sends);
    let Rest { mean_us, p50_us, max_us } = one.sends.unwrap().rest.unwrap();
    // Exponential, of a mean of ten milliseconds.
    assert!((9_000.0..10_500.0).contains(&mean_us), "{mean_us}");
    assert!((0.55..0.8).contains(&(p50_us / mean_us)) && max_us > 3.0 * mean_us, "{p50_us} {mean_us} {max_us}");
    assert_eq!((one.requests.completed, one.requests.waited), (2000, Some(0)));
    // How many replies each connection gets is of chance, and none of the target.
    assert_eq!((one.connections.served_percent, one.connections.jain_index), (None, None));
    assert_eq!(one.load.spread.as_deref(), Some("random"));
}
