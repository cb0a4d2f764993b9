//! Times in which nothing listens at the target.

use crate::faults::{read, write};
use crate::targets::{Stream, ends_after, serve_at};
use crate::web::{Seen, gets, ok, say, second, web};
use crate::worlds::{MS, SECOND, address, exact, options, run};
use brunt_load::Options;
use brunt_results::{RunResult, Threshold, result::Outage, verdict::Kind};
use brunt_runtime::{spawn, time};
use std::future::pending;
use std::rc::Rc;
use std::time::Instant;

/// Sends every message back until then.
async fn serve_until(until: Instant) {
    let serving = serve_at(address().into(), move |mut stream: Stream| async move {
        let echo = async {
            while let Some(message) = read(&mut stream).await {
                write(&mut stream, &message).await;
            }
        };
        let _ = time::timeout_at(until, echo).await;
    });
    spawn(async move { time::timeout_at(until, serving).await });
    time::sleep_until(until).await;
}

/// The only outage of a target that listens for 300 ms, then not for 200 ms, and then again.
#[track_caller]
fn only(result: &RunResult) -> Outage {
    let outages = result.connections.outages.clone().unwrap();
    let [outage] = &outages[..] else { panic!("{outages:?}") };
    // The load begins once its connections are open.
    assert!((0.29..0.303).contains(&outage.at_s) && (0.199..0.26).contains(&outage.down_s), "{outage:?}");
    assert_eq!((outage.failed, outage.is_over), (result.errors.connect, true), "{outage:?}");
    assert_eq!((outage.of_window_s, outage.back_as), (outage.down_s, None));
    let crossed = |bound: &str| bound.parse::<Threshold>().unwrap().crossed(result).is_some();
    assert!(crossed("down>198ms") && !crossed("down>260ms"), "{outage:?}");
    assert_eq!(result.verdict.kind, Kind::Errors);
    outage.clone()
}

#[test]
fn the_time_without_a_listener_is_told() {
    let restarts = async {
        let began = time::now();
        serve_until(began + 300 * MS).await;
        time::sleep(200 * MS).await;
        serve_until(began + 3600 * SECOND).await;
    };
    let options = Options { connections: 4, ..options() };
    // Each connection tries again after 1, 2, 4 ... 128 ms: the attempt at 255 ms is the first to succeed.
    assert_eq!(only(&run(&exact(1), &options, restarts).report.result).failed, 4 * 7);
}

#[test]
fn it_is_told_where_each_request_has_a_connection_too() {
    let restarts = async {
        let (began, seen) = (time::now(), Rc::<Seen>::default());
        let _ = time::timeout_at(began + 300 * MS, web(0, seen.clone(), |_| say(ok("hello")))).await;
        time::sleep(200 * MS).await;
        web(0, seen, |_| say(ok("hello"))).await;
    };
    let result = run(&exact(1), &second(gets(1, Some(1))), restarts).report.result;
    assert!(only(&result).failed >= 2);
}

#[test]
fn one_that_is_not_over_lasts_until_the_end_of_the_window() {
    let options = Options { warmup: 200 * MS, duration: 500 * MS, ..options() };
    let goes = async {
        serve_until(time::now() + 100 * MS).await;
        pending::<()>().await;
    };
    let result = run(&exact(1), &options, goes).report.result;
    let outages = result.connections.outages.unwrap();
    let [outage] = &outages[..] else { panic!("{outages:?}") };
    assert!(!outage.is_over && (outage.of_window_s - 0.5).abs() < 1e-6, "{outage:?}");
    assert!((outage.at_s + outage.down_s - 0.7).abs() < 1e-6, "{outage:?}");
    assert!(outage.to_string().ends_with(", and was not back at the end"), "{outage}");
}

#[test]
fn a_target_that_is_never_down_has_none() {
    let result = run(&exact(1), &options(), ends_after(10, true)).report.result;
    assert_eq!(result.connections.outages, Some(Vec::new()));
}
