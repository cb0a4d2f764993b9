//! Batches (several requests in one write) and suspended connections.

use super::tests::{MS, START, test};
use super::*;

/// A batch of four on connection 0, of which the first two are answered after 10 and 20 ms.
fn half_answered(timeout_ms: u64) -> super::tests::Test {
    let mut test = test(1, 0, timeout_ms);
    assert_eq!(test.scheduler.send_assigned(0, START), Action::Send);
    test.scheduler.send_batch(0, 4);
    assert_eq!(test.scheduler.recorder.outstanding, 4);
    for ms in [10, 20] {
        assert!(test.scheduler.record_reply(0, START + ms * MS, Ok(()), |_| ()));
        test.scheduler.remove_oldest(0);
    }
    test
}

#[test]
fn service_times_of_a_batch_count_from_its_write_and_the_last_reply_frees_the_connection() {
    let mut test = half_answered(1000);
    assert!(test.scheduler.record_reply(0, START + 30 * MS, Err(Failure::Status), |_| ()));
    test.scheduler.remove_oldest(0);
    assert!(test.scheduler.record_reply(0, START + 40 * MS, Ok(()), |_| ()));
    assert_eq!(test.scheduler.next_request(0, START + 40 * MS), Action::Send);
    assert_eq!(test.scheduler.recorder.outstanding, 1);
    let outcome = test.end();
    assert_eq!(outcome.service, [10, 20, 40]);
    let counters = outcome.counters;
    assert_eq!((counters.sent, counters.completed, counters.failed, counters.errors.status), (5, 3, 1, 1));
    assert_eq!(counters.unanswered, 1);
}

#[test]
fn a_lost_connection_loses_the_rest_of_its_batch() {
    let mut test = half_answered(1000);
    test.scheduler.lost(0, START + 30 * MS, Failure::Reset);
    assert_eq!(test.scheduler.recorder.outstanding, 0);
    let counters = test.end().counters;
    assert_eq!((counters.completed, counters.failed, counters.errors.reset), (2, 2, 2));
}

#[test]
fn a_batch_times_out_as_a_whole() {
    for swept in [false, true] {
        let mut test = half_answered(100);
        let now = START + 101 * MS;
        if swept {
            test.scheduler.sweep(now, 10 * MS);
        }
        assert!(!test.scheduler.record_reply(0, now, Ok(()), |_| ()));
        // Closing the connection adds nothing.
        test.scheduler.lost(0, now, Failure::Timeout);
        let outcome = test.end();
        assert_eq!((outcome.counters.completed, outcome.counters.errors.timeout), (2, 2), "swept {swept}");
        assert_eq!(outcome.counters.unanswered, 0);
    }
}

#[test]
fn the_rest_of_a_batch_is_unanswered_at_the_end() {
    let outcome = half_answered(u64::MAX / MS / 2).end();
    assert_eq!((outcome.counters.completed, outcome.counters.unanswered), (2, 2));
    assert_eq!(outcome.response.len(), 2, "both waited until the end");
}

#[test]
fn a_suspended_connection_gets_no_requests() {
    let mut test = test(2, 10, 1000);
    test.scheduler.dispatch(START);
    assert_eq!(test.scheduler.send_assigned(0, START), Action::Send);
    assert!(test.scheduler.record_reply(0, START + MS, Ok(()), |_| ()));
    test.scheduler.suspend(0);
    for request in 1..3 {
        let at = START + request * 10 * MS;
        test.scheduler.dispatch(at);
        assert_eq!((test.scheduler.has_assigned(0), test.scheduler.has_assigned(1)), (false, true));
        assert_eq!(test.scheduler.send_assigned(1, at), Action::Send);
        assert_eq!(test.complete(1, at + MS), Some(Action::Wait));
    }
    assert_eq!(test.scheduler.request(0, START + 25 * MS), Action::Wait);
    test.scheduler.dispatch(START + 30 * MS);
    // Connection 1 has been idle for longer.
    assert!(test.scheduler.has_assigned(1));
    assert_eq!(test.end().counters.errors.total(), 0);
}
