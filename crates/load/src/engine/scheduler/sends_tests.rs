//! What the scheduler counts of its sends, with hand-written times, and sends at ticks.

use super::tests::{MS, START, Test, test};
use super::*;
use crate::schedule::Share;
use brunt_results::result::{CLOSE_NS, SendCounts};
use proptest::prelude::*;

const US: u64 = 1_000;

/// A test with sends at multiples of a tick.
fn ticking(connections: usize, depth: u32, period_ms: u64, tick_ms: u64) -> Test {
    let mut test = test(connections, depth, period_ms, 1000);
    test.scheduler.schedule = test.scheduler.schedule.map(|schedule| schedule.at_ticks(tick_ms * MS));
    test
}

fn sends(test: Test) -> SendCounts {
    test.end().counters.sends
}

#[test]
fn requests_in_time_are_one_at_a_wake_up_and_connections_rest_from_reply_to_request() {
    let mut test = test(2, 1, 10, 1000);
    for request in 0..6 {
        let at = START + request * 10 * MS;
        test.scheduler.dispatch(at);
        let index = request as u32 % 2;
        assert_eq!(test.send_assigned(index, at + US), 1);
        assert!(test.answer(index, at + MS));
    }
    let counts = sends(test);
    assert_eq!([counts.sent, counts.close, counts.scheduled, counts.scheduled_close], [6, 0, 6, 0]);
    assert_eq!((counts.wakeups.count(), counts.wakeups.quantile(1.0)), (6, Some(1)));
    // From the second request of each connection on.
    assert_eq!((counts.rests.count(), counts.rest_ns, counts.longest_rest_ns), (4, 4 * 19 * MS, 19 * MS));
}

#[test]
fn a_late_thread_sends_what_is_due_at_one_wake_up_and_what_waits_is_left_out() {
    let mut test = test(3, 1, 10, 1000);
    // Six are due, of which three find a connection.
    assert_eq!(test.scheduler.dispatch(START + 50 * MS), Due::NoCapacity);
    for (index, late) in [(0, 0), (1, CLOSE_NS), (2, 2 * CLOSE_NS + 1)] {
        assert_eq!(test.send_assigned(index, START + 50 * MS + late), 1);
    }
    (0..3).for_each(|index| assert!(test.answer(index, START + 51 * MS)));
    let counters = test.end().counters;
    let counts = &counters.sends;
    assert_eq!((counters.sent, counters.waited), (6, 3));
    // The second one 10 us after the first, the third a nanosecond more after the second.
    assert_eq!([counts.sent, counts.close, counts.scheduled, counts.scheduled_close], [3, 1, 3, 0]);
    assert_eq!((counts.wakeups.count(), counts.wakeups.quantile(1.0)), (1, Some(3)));
    // Those that waited came to connections without a rest.
    assert_eq!((counts.rests.count(), counts.rest_ns), (3, 0));
}

#[test]
fn a_request_that_is_due_as_a_connection_becomes_idle_has_not_waited() {
    let mut test = test(1, 1, 10, 1000);
    test.scheduler.dispatch(START);
    test.send_assigned(0, START);
    assert_eq!(test.complete(0, START + 10 * MS), Some(Action::Send));
    let counters = test.end().counters;
    assert_eq!((counters.waited, counters.sends.sent, counters.sends.wakeups.count()), (0, 2, 2));
}

#[test]
fn at_ticks_all_that_is_due_is_sent_and_nothing_between_them() {
    let mut test = ticking(8, 1, 10, 25);
    let mut idle = 0..8;
    let mut expected = Vec::new();
    for (tick, requests) in [(0, 1), (1, 2), (2, 3), (3, 2)] {
        let at = START + tick * 25 * MS;
        assert_eq!(test.scheduler.dispatch(at), Due::At(at + 25 * MS), "{tick}");
        for index in idle.by_ref().take(requests) {
            assert_eq!(test.send_assigned(index, at + US), 1);
            expected.push(index);
        }
        assert!(!test.scheduler.has_assigned(expected.len() as u32 % 8));
        // A reply between two ticks does not do the dispatcher's work before it is due.
        if tick == 1 {
            assert_eq!(test.complete(0, at + 20 * MS), Some(Action::Wait));
            assert!(!test.scheduler.has_assigned(3));
        }
    }
    let outcome = test.end();
    let counts = &outcome.counters.sends;
    assert_eq!([counts.sent, counts.close, counts.scheduled, counts.scheduled_close], [8, 4, 8, 0]);
    assert_eq!((counts.wakeups.count(), counts.wakeups.quantile(1.0)), (4, Some(3)));
    // Lag counts from the tick, the response time from the intended time.
    assert_eq!((outcome.lag, outcome.response[0]), (vec![0; 8], 45));
}

#[test]
fn a_request_that_waits_at_a_tick_is_sent_when_a_connection_is_idle() {
    let mut test = ticking(1, 1, 10, 25);
    assert_eq!(test.scheduler.dispatch(START), Due::At(START + 25 * MS));
    test.send_assigned(0, START);
    assert_eq!(test.scheduler.dispatch(START + 25 * MS), Due::NoCapacity);
    assert_eq!(test.complete(0, START + 31 * MS), Some(Action::Send));
    assert_eq!(test.complete(0, START + 32 * MS), Some(Action::Send));
    // The next one is due at 50 ms.
    assert_eq!(test.complete(0, START + 33 * MS), Some(Action::Wait));
    let counters = test.end().counters;
    assert_eq!((counters.waited, counters.sends.sent), (2, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// The counts are those of a list of all sends.
    #[test]
    fn counts_are_those_of_the_sends_themselves(
        random: bool,
        tick_ms in prop_oneof![Just(0u64), Just(7)],
        steps in proptest::collection::vec((0u64..30_000, 0u32..4, 0u64..25), 1..300),
    ) {
        let mut test = ticking(4, 1, 1, tick_ms);
        if random {
            // The connections are idle already.
            let share = Share { thread: 0, threads: 1, connections: 4, group: 1 };
            let mut order = Order::new(brunt_spec::Spread::Random, 3, share);
            let mut idle = VecDeque::new();
            (0..4).for_each(|index| order.list_idle(&mut idle, index));
            (test.scheduler.order, test.scheduler.idle) = (order, idle);
        }
        let (mut now, mut times, mut wakeups, mut scheduled) = (START, Vec::new(), Vec::new(), 0);
        for (pause_us, answered, gap_us) in steps {
            now += pause_us * US / 10;
            let before: u64 = (0..4).map(|index| u64::from(test.scheduler.has_assigned(index))).sum();
            test.scheduler.dispatch(now);
            let given = (0..4).map(|index| u64::from(test.scheduler.has_assigned(index))).sum::<u64>() - before;
            scheduled += given;
            wakeups.extend((given > 0).then_some(given));
            for index in 0..4 {
                let is_unsent = test.scheduler.slots[index as usize].times().is_none();
                if is_unsent && test.send_assigned(index, now) == 1 {
                    times.push(now);
                    now += gap_us * US;
                }
            }
            if test.scheduler.slots[answered as usize].times().is_some() {
                let taken = |test: &Test| test.scheduler.schedule.as_ref().unwrap().taken;
                let (taken_before, waited_before) = (taken(&test), test.scheduler.recorder.counters().waited);
                let is_sent = test.complete(answered, now) == Some(Action::Send);
                if test.scheduler.recorder.counters().waited == waited_before {
                    // A connection that does the work of a late dispatcher is a wake-up too.
                    let given = taken(&test) - taken_before;
                    scheduled += given;
                    wakeups.extend((given > 0).then_some(given));
                    times.extend(is_sent.then_some(now));
                }
            }
        }
        let counts = sends(test);
        let close = times.windows(2).filter(|pair| pair[1] - pair[0] <= CLOSE_NS).count() as u64;
        prop_assert_eq!((counts.sent, counts.close), (times.len() as u64, close));
        prop_assert_eq!((counts.scheduled, counts.wakeups.count()), (scheduled, wakeups.len() as u64));
        prop_assert_eq!(counts.wakeups.quantile(1.0), wakeups.iter().copied().max());
    }
}
