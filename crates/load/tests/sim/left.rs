//! Requests that a target leaves without an answer, and rates that it does not keep up with, in whichever way the load ends.

use crate::faults::{read, write};
use crate::targets::{Stream, never_answers, serial, serve};
use crate::worlds::{MS, SECOND, exact, options, run};
use brunt_load::{Options, Stage};
use brunt_results::{RunResult, verdict::Kind};
use brunt_runtime::time;
use std::{cell::Cell, rc::Rc, time::Duration};

fn echo_of(options: &Options, target: impl Future<Output = ()> + 'static) -> RunResult {
    run(&exact(1), options, target).report.result
}

/// Answers the first requests of all connections, then none.
async fn answers(count: u64) {
    let number = Rc::new(Cell::new(0));
    serve(move |mut stream: Stream| {
        let number = number.clone();
        async move {
            while let Some(message) = read(&mut stream).await {
                time::sleep(MS).await;
                if number.replace(number.get() + 1) < count {
                    write(&mut stream, &message).await;
                }
            }
        }
    })
    .await;
}

#[test]
fn connections_that_are_left_without_an_answer_are_failures() {
    let long = Options { timeout: Duration::from_secs(600), connections: 4, duration: 3 * SECOND, ..options() };
    for (warmup, rate) in [(0, None), (500, None), (0, Some(100.0))] {
        let load = Options { warmup: warmup * MS, rate, ..long.clone() };
        // Nothing in the window, then most of it.
        for count in [0, 100, 298] {
            let result = echo_of(&load, answers(count));
            let why = format!("{count} {warmup} {rate:?} {:?} {:?}", result.requests, result.verdict);
            let kinds = &result.verdict.kinds;
            assert!(kinds.contains(&Kind::Errors) || rate.is_some() && kinds.contains(&Kind::RateMissed), "{why}");
            let left = if rate.is_some() { 300 - count } else { 4 };
            assert_eq!((result.failures(), result.latency.response.censored), (left, left), "{why}");
        }
    }
    // One of a hundred, which is no missed rate.
    let load = Options { rate: Some(100.0), ..long.clone() };
    let result = echo_of(&load, answers(298));
    assert_eq!(result.verdict.kinds[0], Kind::Errors, "{:?}", result.verdict);
    // A reply that takes longer than the drain is none.
    let slow = serve(|mut stream: Stream| async move {
        while let Some(message) = read(&mut stream).await {
            time::sleep(2100 * MS).await;
            write(&mut stream, &message).await;
        }
    });
    let result = echo_of(&long, slow);
    assert_eq!((result.failures(), result.requests.abandoned), (0, 4), "{:?}", result.verdict);
    assert!(!result.verdict.kinds.contains(&Kind::Errors));
}

#[test]
fn a_request_that_was_never_sent_is_not_left_by_the_target() {
    // A little more than the target can answer, so that some wait for the connection at the end, for longer than any was served.
    let load = Options { rate: Some(400.0), connections: 1, duration: 500 * MS, ..options() };
    let result =
        echo_of(&Options { timeout: Duration::from_secs(60), ..load }, serial(Duration::ZERO, |_| 2600 * MS / 1000));
    let (waited, served) = (result.latency.response.max_us.unwrap(), result.latency.service.max_us.unwrap());
    assert!(result.requests.abandoned > 0 && waited > 2.0 * served, "{:?} {waited} {served}", result.requests);
    assert!(!result.verdict.kinds.contains(&Kind::Errors), "{:?}", result.verdict);
}

#[test]
fn a_number_of_requests_at_a_rate_that_is_too_high_misses_it() {
    for (rate, requests, kind) in
        [(300.0, 500, Some(Kind::RateMissed)), (90.0, 150, None), (90.0, 5, None), (50.0, 1, None)]
    {
        let load = Options {
            rate: Some(rate),
            requests: Some(requests),
            timeout: Duration::from_secs(60),
            duration: Duration::from_secs(3600),
            ..options()
        };
        // A hundred a second.
        let result = echo_of(&load, serial(Duration::ZERO, |_| 10 * MS));
        assert_eq!(result.requests.completed, requests);
        let doubt = result.verdict.kinds.iter().find(|found| **found == Kind::RateMissed);
        assert_eq!(doubt, kind.as_ref(), "{rate} {requests}: {:?}", result.verdict);
        if kind.is_some() {
            assert!(result.verdict.why[0].contains(" of 300 offered; 99.8 % found every"), "{:?}", result.verdict);
        }
    }
}

#[test]
fn steps_have_the_requests_that_were_never_sent() {
    let stage = |rate| Stage { from: rate, to: rate, length: SECOND };
    let stages = vec![stage(10.0), stage(200.0), stage(10.0)];
    let load = Options { rate: Some(Stage::mean(&stages)), stages, duration: 3 * SECOND, ..options() };
    let result = echo_of(&Options { timeout: Duration::from_secs(60), ..load }, serial(Duration::ZERO, |_| 20 * MS));
    let steps: Vec<_> =
        result.steps.iter().map(|step| (step.figures.response.count, step.figures.response.censored)).collect();
    assert_eq!((steps[0], steps[1].0, steps[2]), ((10, 0), 200, (10, 10)), "{steps:?}");
    let censored: u64 = steps.iter().map(|(_, censored)| censored).sum();
    assert_eq!(censored, result.latency.response.censored);
    let second = &result.steps[1].figures.response;
    assert!(second.is_bound("p90") && second.is_bound("max") && result.steps[2].figures.response.is_bound("p50"));
}

#[test]
fn a_target_that_answers_nothing_after_a_warm_up_is_an_error() {
    // The time is over after the run, and a second after the window.
    for timeout in [Duration::from_secs(600), 1500 * MS] {
        let load = Options { timeout, connections: 2, warmup: 100 * MS, ..options() };
        let result = echo_of(&load, never_answers());
        assert_eq!((result.verdict.kind, result.failures()), (Kind::Errors, 2), "{:?}", result.verdict);
        assert_eq!((result.latency.response.count, result.latency.response.censored), (2, 2));
    }
}
