//! Open-loop pipelines, batches (several requests in one write) and suspended connections, with hand-written times.

use super::tests::{MS, START, Test, test};
use super::*;

#[test]
fn idle_connections_come_first_and_then_those_with_capacity_in_turn() {
    let mut test = test(2, 3, 10, 1000);
    for (request, expected) in [0, 1, 0, 1, 0, 1].into_iter().enumerate() {
        let at = START + request as u64 * 10 * MS;
        assert_eq!(test.scheduler.dispatch(at), Due::At(at + 10 * MS));
        assert!(test.scheduler.has_assigned(expected), "request {request}");
        assert_eq!(test.send_assigned(expected, at), 1);
    }
    assert_eq!(test.scheduler.dispatch(START + 60 * MS), Due::NoCapacity);
    // Capacity on a busy connection, and an idle one, which is preferred.
    (0..2).for_each(|_| assert!(test.answer(1, START + 61 * MS)));
    assert!(test.answer(0, START + 62 * MS));
    assert!(test.answer(1, START + 63 * MS));
    assert!(test.answer(1, START + 64 * MS));
    test.scheduler.dispatch(START + 70 * MS);
    assert!(test.scheduler.has_assigned(1) && !test.scheduler.has_assigned(0));
    assert_eq!((test.wakes(0), test.wakes(1)), (3, 4));
}

#[test]
fn each_request_has_its_own_times_and_replies_come_in_order() {
    let mut test = test(1, 4, 10, 1000);
    for request in 0..4 {
        test.scheduler.dispatch(START + request * 10 * MS);
        assert_eq!(test.send_assigned(0, START + request * 10 * MS + MS), 1);
    }
    for reply in 0..4 {
        assert!(test.answer(0, START + 35 * MS + reply * MS));
    }
    let outcome = test.end();
    assert_eq!(outcome.response, [8, 17, 26, 35]);
    assert_eq!(outcome.service, [7, 16, 25, 34]);
    assert_eq!(outcome.lag, [1, 1, 1, 1]);
    assert_eq!(outcome.counters.waited, 0);
}

#[test]
fn waiting_for_capacity_is_not_lag() {
    let mut test = test(1, 2, 10, 1000);
    for request in 0..2 {
        test.scheduler.dispatch(START + request * 10 * MS);
        assert_eq!(test.send_assigned(0, START + request * 10 * MS), 1);
    }
    assert_eq!(test.scheduler.dispatch(START + 20 * MS), Due::NoCapacity);
    // Two replies at 45 ms: two of the three due requests are sent at once, the third waits.
    assert!(test.scheduler.record_reply(0, START + 45 * MS, Ok(()), None, |_| ()));
    test.scheduler.remove_oldest(0);
    assert!(test.scheduler.record_reply(0, START + 45 * MS, Ok(()), None, |_| ()));
    test.scheduler.remove_oldest(0);
    assert_eq!((test.request(0, START + 45 * MS), test.request(0, START + 45 * MS)), (1, 1));
    assert_eq!(test.scheduler.dispatch(START + 45 * MS), Due::NoCapacity);
    (0..3).for_each(|_| assert!(test.answer(0, START + 46 * MS)));
    assert_eq!(test.scheduler.dispatch(START + 46 * MS), Due::At(START + 50 * MS));
    let outcome = test.end();
    assert_eq!((outcome.counters.waited, outcome.counters.completed), (3, 5));
    assert_eq!(outcome.response, [6, 16, 26, 35, 45]);
    assert_eq!(outcome.service, [0, 1, 1, 35, 45]);
    assert_eq!(outcome.lag, [0; 5]);
}

#[test]
fn each_due_request_of_a_late_generator_has_its_lag() {
    let mut test = test(1, 8, 10, 1000);
    assert_eq!(test.scheduler.dispatch(START + 30 * MS), Due::At(START + 40 * MS));
    assert_eq!(test.wakes(0), 4);
    assert_eq!(test.send_assigned(0, START + 30 * MS), 4);
    assert_eq!(test.end().lag, [0, 10, 20, 30]);
}

#[test]
fn a_lost_connection_loses_its_sent_requests_and_requeues_the_others() {
    let mut test = test(2, 3, 10, 1000);
    // Both are busy; connection 0 has two sent requests and an unsent one.
    for request in 0..5 {
        test.scheduler.dispatch(START + request * 10 * MS);
        if request < 4 {
            test.send_assigned(request as u32 % 2, START + request * 10 * MS);
        }
    }
    test.scheduler.lost(0, START + 41 * MS, Failure::Reset);
    test.scheduler.dispatch(START + 41 * MS);
    assert_eq!(test.send_assigned(1, START + 41 * MS), 1);
    assert_eq!(test.scheduler.recorder.outstanding, 3);
    let counters = test.end().counters;
    assert_eq!((counters.sent, counters.failed, counters.errors.reset, counters.unanswered), (5, 2, 2, 3));
}

#[test]
fn requests_behind_a_timed_out_one_fail_with_it() {
    for swept in [false, true] {
        let mut test = test(2, 2, 10, 100);
        for request in 0..4 {
            test.scheduler.dispatch(START + request * 10 * MS);
            test.send_assigned(request as u32 % 2, START + request * 10 * MS);
        }
        let now = START + 101 * MS;
        match swept {
            true => test.scheduler.sweep(now, 10 * MS),
            false => assert!(!test.answer(0, now)),
        }
        assert!(test.scheduler.is_timed_out(0) && !test.scheduler.is_timed_out(1));
        test.scheduler.lost(0, now, Failure::Timeout);
        assert!(test.answer(1, now) && test.answer(1, now));
        let outcome = test.end();
        assert_eq!((outcome.counters.failed, outcome.counters.errors.timeout), (2, 2), "swept {swept}");
        // The second one of connection 0 had waited for 81 ms. The requests that connection 1 took last are unanswered.
        assert_eq!(outcome.response[..4], [71, 81, 91, 100], "swept {swept}");
    }
}

#[test]
fn a_connection_that_stops_sending_requeues_its_unsent_requests() {
    let mut test = test(2, 3, 10, 1000);
    for request in 0..2 {
        test.scheduler.dispatch(START + request * 10 * MS);
        test.send_assigned(request as u32, START + request * 10 * MS);
    }
    test.scheduler.dispatch(START + 20 * MS);
    assert!(test.scheduler.has_assigned(0));
    test.scheduler.stop_sending(0, START + 20 * MS);
    assert!(!test.scheduler.has_assigned(0) && test.scheduler.has_assigned(1));
    assert_eq!(test.send_assigned(1, START + 20 * MS), 1);
    assert!(test.scheduler.record_reply(0, START + 25 * MS, Ok(()), None, |_| ()));
    test.scheduler.suspend(0);
    test.scheduler.dispatch(START + 30 * MS);
    assert_eq!(test.send_assigned(1, START + 30 * MS), 1);
    assert_eq!(test.scheduler.dispatch(START + 40 * MS), Due::NoCapacity);
    // Its successor has its full capacity, and takes the request that waited.
    assert_eq!((0..3).map(|_| test.request(0, START + 41 * MS)).sum::<usize>(), 1);
    let counters = test.end().counters;
    assert_eq!((counters.sent, counters.completed, counters.unanswered, counters.waited), (5, 1, 4, 1));
}

/// A batch of four on connection 0, of which the first two are answered after 10 and 20 ms.
fn half_answered(timeout_ms: u64) -> Test {
    let mut test = test(1, 1, 0, timeout_ms);
    assert_eq!(test.scheduler.send_assigned(0, START), Action::Send);
    test.scheduler.send_batch(0, 4);
    assert_eq!(test.scheduler.recorder.outstanding, 4);
    for ms in [10, 20] {
        assert!(test.scheduler.record_reply(0, START + ms * MS, Ok(()), None, |_| ()));
        test.scheduler.remove_oldest(0);
    }
    test
}

#[test]
fn service_times_of_a_batch_count_from_its_write_and_the_last_reply_frees_the_connection() {
    let mut test = half_answered(1000);
    assert!(test.scheduler.record_reply(0, START + 30 * MS, Err(Failure::Status), None, |_| ()));
    test.scheduler.remove_oldest(0);
    assert!(test.scheduler.record_reply(0, START + 40 * MS, Ok(()), None, |_| ()));
    assert_eq!(test.scheduler.next_request(0, START + 40 * MS), Action::Send);
    assert_eq!(test.scheduler.recorder.outstanding, 1);
    let outcome = test.end();
    assert_eq!(outcome.service, [10, 20, 40]);
    let counters = outcome.counters;
    assert_eq!((counters.sent, counters.completed, counters.failed, counters.errors.status), (5, 3, 1, 1));
    assert_eq!(counters.unanswered, 1);
}

#[test]
fn a_batch_times_out_as_a_whole() {
    for swept in [false, true] {
        let mut test = half_answered(100);
        let now = START + 101 * MS;
        if swept {
            test.scheduler.sweep(now, 10 * MS);
        }
        assert!(!test.scheduler.record_reply(0, now, Ok(()), None, |_| ()));
        // Closing the connection adds nothing.
        test.scheduler.lost(0, now, Failure::Timeout);
        let outcome = test.end();
        assert_eq!((outcome.counters.completed, outcome.counters.errors.timeout), (2, 2), "swept {swept}");
        assert_eq!(outcome.counters.unanswered, 0);
    }
}

#[test]
fn the_rest_of_a_batch_is_unanswered_at_the_end_or_lost_with_its_connection() {
    let outcome = half_answered(u64::MAX / MS / 2).end();
    assert_eq!((outcome.counters.completed, outcome.counters.unanswered), (2, 2));
    assert_eq!(outcome.response.len(), 2, "both waited until the end");
    let mut test = half_answered(1000);
    test.scheduler.lost(0, START + 30 * MS, Failure::Reset);
    assert_eq!(test.scheduler.recorder.outstanding, 0);
    let counters = test.end().counters;
    assert_eq!((counters.completed, counters.failed, counters.errors.reset), (2, 2, 2));
}

#[test]
fn a_suspended_connection_gets_no_requests() {
    let mut test = test(2, 1, 10, 1000);
    test.scheduler.dispatch(START);
    assert_eq!(test.scheduler.send_assigned(0, START), Action::Send);
    assert!(test.scheduler.record_reply(0, START + MS, Ok(()), None, |_| ()));
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
