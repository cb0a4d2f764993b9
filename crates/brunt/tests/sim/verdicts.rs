//! The verdicts of loads that deserve them, and of others beside them that do not: `docs/reference/verdicts.md`.

use crate::targets::{get, reply, serve};
use crate::worlds::{LAG, MS, SECOND, Serve, US, WAY, address, exact, open, options, run, times};
use brunt_load::http::Pipeline;
use brunt_load::{Options, Report, Target};
use brunt_results::env::Env;
use brunt_results::verdict::{Kind, ValidityIssue};
use brunt_results::{LatencySummary, drift};
use brunt_serve::http::handler::{Fault, Response};
use brunt_view::summary;
use std::time::Duration;

fn echo() -> Target {
    Target::Echo { address: address().into(), size: 64, reuse: None }
}

fn report(options: &Options, serve: Serve) -> Report {
    run(&exact(), options, serve).unwrap().report
}

#[test]
fn a_generator_that_stands_still_is_the_limit() {
    let options = Options { duration: 6 * SECOND, ..open(echo(), 1000.0, 20, 1) };
    let verdict = |pause: Duration| {
        let world = exact();
        world.pause(4 * SECOND, pause);
        run(&world, &options, Serve::echo("none", 1)).unwrap().report.result.verdict
    };
    // A sixth of the requests become due meanwhile, so one in a hundred is sent 940 ms late.
    let late = verdict(SECOND);
    assert_eq!(late.kinds, [Kind::ClientLimited]);
    assert!(late.why[0].starts_with("the generator sent late: lag p99 94"), "{late:?}");
    // One in a hundred requests is not late.
    assert_eq!(verdict(50 * MS).kinds, []);
}

#[test]
fn a_rate_that_two_connections_cannot_carry_is_missed() {
    let verdict = |rate: f64, duration: Duration| {
        let options = Options { rate: Some(rate), connections: 2, duration, ..options(echo()) };
        report(&options, Serve::echo("sleep=9977us", 1)).result.verdict
    };
    // A request takes ten milliseconds.
    let missed = verdict(1000.0, 10 * SECOND);
    assert!(missed.kinds.contains(&Kind::RateMissed), "{missed:?}");
    let why = "200 requests/s were answered of 1000 offered; ";
    assert!(missed.why.iter().any(|one| one.starts_with(why)), "{missed:?}");
    assert_eq!(verdict(190.0, 10 * SECOND).kinds, []);
}

#[test]
fn a_server_that_grows_slower_is_not_stationary() {
    let options = Options { connections: 4, duration: 9 * SECOND, ..options(get(Pipeline::NONE, None)) };
    let drift = |answer: fn(u64) -> Response| drift::check(&report(&options, serve(answer, 1).0).seconds);
    let grows = drift(|number| Response { delay: 5 * MS + 10 * US * number as u32, ..reply() });
    let Some(ValidityIssue::NotStationary { evidence }) = grows else { panic!("{grows:?}") };
    assert!(evidence.contains("throughput") && evidence.contains("the median response time"), "{evidence}");
    assert_eq!(drift(|_| Response { delay: 5 * MS, ..reply() }), None);
}

/// The page of a server that takes requests and answers none.
#[test]
fn a_server_that_never_answers_has_lower_bounds_and_says_so() {
    let sleeps = || Serve::echo("sleep=10s", 1);
    let stalls = || serve(|_| Response { fault: Some(Fault::Stall), ..reply() }, 1).0;
    for (target, server) in [(echo(), sleeps as fn() -> Serve), (get(Pipeline::NONE, None), stalls as fn() -> Serve)] {
        for (rate, failed) in [(Some(100.0), "50 of 50"), (None, "4 of 4")] {
            let options = Options { rate, connections: 4, duration: 500 * MS, ..options(target.clone()) };
            let result = report(&options, server()).result;
            let (env, no_server) = (Env::default(), Some("it is a task"));
            let page = summary::page(&summary::Facts { result: &result, env: &env, no_server, percentiles: &[] });
            let row = |name: &str| page.lines().find(|line| line.trim().starts_with(name)).unwrap().to_owned();
            // Each has waited for the half second, or less at a rate, and for the second behind it.
            assert!(row("response").ends_with("> 1.50 s"), "{page}");
            assert!(row("errors").ends_with(" unanswered"), "{page}");
            assert_eq!(result.verdict.kinds, [Kind::Errors], "{page}");
            assert!(
                page.contains(&format!("{failed} requests failed")) && page.contains("nothing was answered in time"),
                "{page}"
            );
            assert!(!page.contains("Little"), "{page}");
        }
    }
}

#[test]
fn a_load_that_nothing_is_wrong_with_is_ok() {
    let result = report(&open(echo(), 1000.0, 4, 1), Serve::echo("none", 1)).result;
    assert_eq!((result.verdict.kind, result.verdict.kinds), (Kind::Ok, vec![]));
    assert_eq!(result.latency.response, LatencySummary::of(&times(1000, LAG + WAY)));
}
