//! Servers that answer badly, and servers that are not there: each failure is counted once and by its kind, as often as it
//! happens.

use crate::targets::{get, reply, serve};
use crate::worlds::{FIRST, HANDSHAKE, MS, Run, SECOND, US, WAY, address, exact, options, run, times, values};
use brunt_load::http::Pipeline;
use brunt_load::{LoadError, Options, Report, Silent, Target, run_in_world};
use brunt_results::result::Errors;
use brunt_serve::http::handler::{Fault, Response};
use std::time::Duration;

type Kind = fn(&Errors) -> u64;
type Faulty = (fn(u64) -> Response, Kind, Duration);

/// Faults of every 100th request, the kind as which each is counted, and how much later than a reply it is seen: a server closes
/// in the turn behind that in which it sends.
const FAULTS: [Faulty; 3] = [
    (|n| faulty(n, Fault::Reset), |errors| errors.closed, US),
    (|n| faulty(n, Fault::Garbage), |errors| errors.protocol, Duration::ZERO),
    (|n| faulty(n, Fault::Truncate(3)), |errors| errors.truncated, US),
];

fn faulty(number: u64, fault: Fault) -> Response {
    Response { fault: (number % 100 == 99).then_some(fault), ..reply() }
}

/// Requests that fail and that are completed in a second, one after another.
fn one_after_another(later: Duration) -> [u64; 2] {
    let (mut at, mut ended) = (Duration::ZERO, [0; 2]);
    for number in 0.. {
        let fails = number % 100 == 99;
        at += if number > 0 && number % 100 == 0 { FIRST } else { WAY } + if fails { later } else { Duration::ZERO };
        if at >= SECOND {
            break;
        }
        ended[usize::from(!fails)] += 1;
        // The connection is opened again after a millisecond, in the turn behind it.
        at += if fails { MS + US + HANDSHAKE } else { Duration::ZERO };
    }
    ended
}

#[test]
fn faults_of_the_server_are_counted_by_kind() {
    for (number, (answer, kind, later)) in FAULTS.into_iter().enumerate() {
        let (serve, handlers) = serve(answer, 1);
        let Run { report, server, .. } = run(&exact(), &options(get(Pipeline::NONE, None)), serve).unwrap();
        let (requests, errors) = (&report.result.requests, &report.result.errors);
        assert_eq!([requests.failed, requests.completed], one_after_another(later), "{number}");
        assert_eq!((kind(errors), errors.total()), (requests.failed, requests.failed), "{number}");
        assert_eq!(requests.completed + requests.failed + requests.unanswered, handlers.requests(), "{number}");
        assert_eq!((report.result.connections.opened, server.failed, server.cut), (server.accepted, 0, 0), "{number}");
    }
}

/// Requests that were lost before the end of the window, where no reply is refused.
fn lost_in_time(report: &Report) -> u64 {
    report.seconds.iter().map(|second| second.failed).sum()
}

#[test]
fn a_fault_of_one_connection_is_none_of_the_others() {
    for (number, (answer, kind, _)) in FAULTS.into_iter().enumerate() {
        let options = Options { connections: 8, threads: vec![None; 2], ..options(get(Pipeline::NONE, None)) };
        let (serve, handlers) = serve(answer, 1);
        let Run { report, responses, server } = run(&exact(), &options, serve).unwrap();
        let (requests, errors) = (&report.result.requests, &report.result.errors);
        assert_eq!(requests.completed + requests.failed + requests.unanswered, handlers.requests(), "{number}");
        assert_eq!(requests.failed + requests.abandoned, handlers.requests() / 100, "{number}");
        assert_eq!((kind(errors), errors.total()), (requests.failed, requests.failed), "{number}");
        // A request without a reply is as long as the longest answered one.
        assert_eq!(responses.len(), requests.completed + lost_in_time(&report), "{number}");
        let expected = [values(&times(1, WAY))[0].0, values(&times(1, HANDSHAKE + FIRST))[0].0];
        assert_eq!(values(&responses).iter().map(|value| value.0).collect::<Vec<_>>(), expected, "{number}");
        assert_eq!((report.result.connections.opened, server.failed, server.cut), (server.accepted, 0, 0), "{number}");
    }
}

#[test]
fn a_request_that_is_never_answered_is_a_failure_of_the_length_of_its_timeout() {
    let options = Options { connections: 4, timeout: 100 * MS, ..options(get(Pipeline::NONE, None)) };
    let stalls = |n| Response { fault: (n % 1000 == 999).then_some(Fault::Stall), ..reply() };
    let (serve, handlers) = serve(stalls, 1);
    let Run { report, responses, server } = run(&exact(), &options, serve).unwrap();
    let (requests, errors) = (&report.result.requests, &report.result.errors);
    let stalled = handlers.requests() / 1000;
    assert_eq!((errors.timeout, errors.total(), requests.failed), (requests.failed, requests.failed, requests.failed));
    assert_eq!(requests.completed + requests.failed + requests.unanswered, handlers.requests());
    let timed_out = times(lost_in_time(&report), 100 * MS);
    assert_eq!(values(&responses).last(), values(&timed_out).last());
    assert_eq!(responses.len(), requests.completed + lost_in_time(&report));
    assert_eq!(requests.failed + requests.abandoned, stalled);
    assert_eq!((server.failed, server.cut), (0, 0));
}

#[test]
fn a_server_that_is_not_there_is_an_error() {
    for target in [get(Pipeline::NONE, None), Target::Echo { address: address().into(), size: 64, reuse: None }] {
        let outcome = exact().run(run_in_world(&options(target), &mut Silent)).unwrap();
        assert!(matches!(outcome, Err(LoadError::Refused(_))), "{:?}", outcome.map(|report| report.result));
    }
}
