//! Targets that answer badly: each failure is counted, once and by its kind.

use crate::targets::{ends_after, never_answers};
use crate::worlds::{MS, Run, exact, options, run, times, values};
use brunt_load::{LoadError, Options, Silent, run_in_world};

#[test]
fn a_target_that_never_answers_fails_each_request_by_its_timeout() {
    let options = Options { timeout: 100 * MS, connections: 4, ..options() };
    let Run { report, responses } = run(&exact(1), &options, never_answers());
    let result = report.result;
    // Timeouts are looked for every 6.25 ms, and a lost connection is opened again after 1, 2, 4 ... ms.
    assert_eq!((result.requests.completed, result.requests.failed, result.requests.unanswered), (0, 32, 0));
    assert_eq!((result.errors.timeout, result.errors.total()), (32, 32));
    assert_eq!(values(&responses), values(&times(32, 100 * MS)));
    assert_eq!(result.latency.service.count, 0);
}

#[test]
fn requests_that_wait_for_a_target_that_never_answers_are_unanswered() {
    let options = Options { timeout: 100 * MS, connections: 4, rate: Some(100.0), ..options() };
    let Run { report, responses } = run(&exact(1), &options, never_answers());
    let (requests, errors) = (&report.result.requests, &report.result.errors);
    assert_eq!((requests.completed, requests.failed, requests.unanswered, requests.abandoned), (0, 32, 68, 68));
    assert_eq!((errors.timeout, errors.total()), (32, 32));
    assert_eq!(report.result.latency.response.count, 100);
    assert_eq!(responses.len(), 32);
}

#[test]
fn a_connection_that_is_closed_or_reset_loses_the_request_on_it() {
    for reset in [false, true] {
        let options = Options { connections: 4, ..options() };
        let result = run(&exact(1), &options, ends_after(10, reset)).report.result;
        let requests = &result.requests;
        // Ten replies, then a request whose connection is gone and opened again a millisecond later.
        assert_eq!(requests.completed, 10 * result.connections.opened);
        assert_eq!((requests.failed, result.errors.reset), (result.connections.opened, result.connections.opened));
        assert_eq!((result.errors.total(), requests.unanswered), (requests.failed, 0));
    }
}

#[test]
fn an_idle_connection_that_ends_loses_no_request() {
    for reset in [false, true] {
        let options = Options { connections: 4, rate: Some(1000.0), ..options() };
        let result = run(&exact(1), &options, ends_after(10, reset)).report.result;
        let requests = &result.requests;
        assert_eq!((requests.completed, requests.failed, requests.unanswered, requests.waited), (1000, 0, 0, Some(0)));
        assert_eq!((result.errors.reset, result.errors.total(), result.connections.opened), (98, 98, 102));
    }
}

#[test]
fn a_target_that_nobody_serves_is_an_error() {
    let outcome = exact(1).run(run_in_world(&options(), &mut Silent)).unwrap();
    assert!(matches!(outcome, Err(LoadError::Refused(_))), "{:?}", outcome.map(|report| report.result));
}
