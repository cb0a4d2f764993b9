//! The scheduler's rules, with hand-written times.

use super::*;
use crate::measure::breakdown::Breakdown;
use crate::measure::histogram::{RawHistogram, tests::millis};
use crate::measure::interval::{Counters, Interval, Usage};
use crate::measure::{links::Links, recorder::Recorder};
use crate::schedule::{Arrival, Profile, Share};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::{sync::Arc, sync::atomic::Ordering::Relaxed, task::Wake};

pub(super) const MS: u64 = 1_000_000;
pub(super) const START: u64 = 1000 * MS;
/// Long after every test's last event.
const CLOSE: u64 = 9_000 * MS;

#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

pub(super) struct Test {
    pub scheduler: Scheduler,
    wakes: Vec<Arc<WakeCount>>,
}

/// `period_ms` between requests makes an open loop with constant gaps, 0 a closed one.
/// With capacity for `depth` requests on each connection.
pub(super) fn test(connections: usize, depth: u32, period_ms: u64, timeout_ms: u64) -> Test {
    let schedule = (period_ms > 0).then(|| {
        let share = Share { thread: 0, threads: 1, connections, group: 1 };
        Schedule::new(Arrival::Constant, Profile::constant(1000.0 / period_ms as f64), 1, share)
    });
    let links = Links {
        open: Arc::default(),
        close: Arc::new(AtomicU64::new(CLOSE)),
        window_close: Arc::default(),
        budget: None,
        meter: Box::new(Usage::default),
    };
    let mut recorder = Recorder::new(schedule.is_none(), links, None, Breakdown::default());
    recorder.begin(START, START);
    let mut scheduler = Scheduler::new(connections, depth, schedule, timeout_ms * MS, recorder);
    let wakes: Vec<Arc<WakeCount>> = (0..connections).map(|_| Arc::default()).collect();
    for (index, wakes) in wakes.iter().enumerate() {
        scheduler.wakers[index] = Waker::from(Arc::clone(wakes));
        (0..depth).for_each(|_| assert_eq!(scheduler.request(index as u32, START - MS), Action::Wait));
    }
    scheduler.begin(START);
    Test { scheduler, wakes }
}

/// Values in whole milliseconds, sorted.
pub(super) struct Outcome {
    pub counters: Counters,
    pub response: Vec<u64>,
    pub service: Vec<u64>,
    pub lag: Vec<u64>,
}

impl Test {
    pub fn wakes(&self, index: usize) -> usize {
        self.wakes[index].0.load(Relaxed)
    }

    fn has_capacity(&self, slot: usize) -> bool {
        match self.scheduler.depth {
            1 => self.scheduler.slots[slot].is_idle(),
            _ => self.scheduler.pipelines[slot].capacity > 0,
        }
    }

    /// Sends the assigned requests of a connection; returns their number.
    pub fn send_assigned(&mut self, index: u32, now: u64) -> usize {
        let most = self.scheduler.depth as usize;
        let sent =
            |_: &usize| self.scheduler.has_assigned(index) && self.scheduler.send_assigned(index, now) == Action::Send;
        (0..most).take_while(sent).count()
    }

    /// A connection has capacity for one more, and sends the requests that it gets; returns their number.
    pub fn request(&mut self, index: u32, now: u64) -> usize {
        match (self.scheduler.request(index, now), self.scheduler.depth) {
            (Action::Send, 1) => 1,
            (Action::Send, _) => 1 + self.send_assigned(index, now),
            _ => 0,
        }
    }

    /// A connection with one request has its reply and takes the next request; `None` if the reply was too late.
    pub fn complete(&mut self, index: u32, now: u64) -> Option<Action> {
        let in_time = self.scheduler.record_reply(index, now, Ok(()), None, |_| ());
        in_time.then(|| self.scheduler.next_request(index, now))
    }

    /// A connection has its oldest reply; false if it was too late.
    pub fn answer(&mut self, index: u32, now: u64) -> bool {
        if self.scheduler.depth == 1 {
            return self.complete(index, now).is_some();
        }
        self.send_assigned(index, now);
        let in_time = self.scheduler.record_reply(index, now, Ok(()), None, |_| ());
        if in_time {
            self.scheduler.remove_oldest(index);
            self.request(index, now);
        }
        in_time
    }

    pub fn end(mut self) -> Outcome {
        self.scheduler.recorder.advance(CLOSE);
        self.scheduler.finish(CLOSE);
        let intervals = std::iter::from_fn(|| self.scheduler.recorder.finished.pop_front());
        let mut intervals: Vec<Interval> = intervals.map(|interval| *interval).collect();
        let mut counters = Counters::default();
        intervals.iter().for_each(|interval| counters.add(&interval.counters));
        let mut values = |of: fn(&mut Interval) -> &mut RawHistogram| millis(intervals.iter_mut().map(of));
        let (service, lag) = (values(|i| &mut i.service), values(|i| &mut i.lag));
        let response = millis(intervals.iter_mut().flat_map(waits));
        Outcome { counters, response, service, lag }
    }
}

/// How long its requests have waited, for a reply or in vain.
fn waits(interval: &mut Interval) -> impl Iterator<Item = &mut RawHistogram> {
    let Interval { response, censored, unsent, .. } = interval;
    std::iter::once(response).chain(censored).chain(unsent)
}

#[test]
fn a_reply_before_its_request_has_a_service_time_of_zero() {
    let mut test = test(1, 1, 0, 1000);
    assert_eq!(test.scheduler.send_assigned(0, START + 2 * MS), Action::Send);
    assert_eq!(test.complete(0, START + MS), Some(Action::Send));
    let outcome = test.end();
    assert_eq!((outcome.counters.completed, outcome.counters.failed, outcome.service), (1, 0, vec![0]));
}

#[test]
fn a_closed_loop_sends_on_every_connection_and_after_each_reply() {
    let mut test = test(2, 1, 0, 1000);
    assert_eq!((test.wakes(0), test.wakes(1)), (1, 1));
    assert_eq!(test.scheduler.send_assigned(0, START + MS), Action::Send);
    assert_eq!(test.scheduler.send_assigned(1, START + 2 * MS), Action::Send);
    for reply in 1..=3 {
        assert_eq!(test.complete(0, START + MS + reply * 10 * MS), Some(Action::Send));
    }
    let outcome = test.end();
    assert_eq!((outcome.counters.sent, outcome.counters.completed), (5, 3));
    assert_eq!(outcome.counters.unanswered, 2);
    assert_eq!(outcome.service, [10, 10, 10]);
    assert!(outcome.lag.is_empty());
}

#[test]
fn a_due_request_goes_to_the_connection_idle_longest() {
    let mut test = test(3, 1, 10, 1000);
    for (request, expected) in [0, 1, 2, 0, 1].into_iter().enumerate() {
        let at = START + request as u64 * 10 * MS;
        assert_eq!(test.scheduler.dispatch(at), Due::At(at + 10 * MS));
        assert!(test.scheduler.has_assigned(expected), "request {request}");
        assert_eq!(test.scheduler.send_assigned(expected, at), Action::Send);
        assert_eq!(test.complete(expected, at + MS), Some(Action::Wait));
    }
    assert_eq!((test.wakes(0), test.wakes(1), test.wakes(2)), (2, 2, 1));
}

#[test]
fn without_an_idle_connection_a_request_waits_and_keeps_its_intended_time() {
    let mut test = test(1, 1, 10, 1000);
    assert_eq!(test.scheduler.dispatch(START), Due::At(START + 10 * MS));
    assert_eq!(test.scheduler.send_assigned(0, START), Action::Send);
    assert_eq!(test.scheduler.dispatch(START + 10 * MS), Due::NoCapacity);
    // Free 25 ms after it was due: sent at once, without lag.
    assert_eq!(test.complete(0, START + 35 * MS), Some(Action::Send));
    // Two more are due: the schedule was not shifted.
    assert_eq!(test.complete(0, START + 36 * MS), Some(Action::Send));
    assert_eq!(test.complete(0, START + 37 * MS), Some(Action::Send));
    assert_eq!(test.complete(0, START + 38 * MS), Some(Action::Wait));
    assert_eq!(test.scheduler.dispatch(START + 38 * MS), Due::At(START + 40 * MS));
    let outcome = test.end();
    assert_eq!(outcome.counters.waited, 3);
    assert_eq!(outcome.response, [8, 17, 26, 35]);
    assert_eq!(outcome.service, [1, 1, 1, 35]);
    assert_eq!(outcome.lag, [0, 0, 0, 0]);
}

#[test]
fn a_late_dispatcher_causes_lag() {
    let mut test = test(2, 1, 10, 1000);
    assert_eq!(test.scheduler.dispatch(START + 5 * MS), Due::At(START + 10 * MS));
    assert_eq!(test.scheduler.send_assigned(0, START + 7 * MS), Action::Send);
    // With an idle connection, a reply does the dispatcher's work in its order: the longest idle goes first.
    assert_eq!(test.complete(0, START + 14 * MS), Some(Action::Wait));
    assert_eq!(test.scheduler.send_assigned(1, START + 14 * MS), Action::Send);
    assert_eq!(test.complete(1, START + 15 * MS), Some(Action::Wait));
    let outcome = test.end();
    assert_eq!(outcome.lag, [4, 7]);
    assert_eq!(outcome.response, [5, 14]);
    assert_eq!(outcome.counters.waited, 0);
}

#[test]
fn requests_that_wait_behind_a_late_one_have_its_lag() {
    let mut test = test(1, 1, 10, 1000);
    // The thread was stopped for 50 ms: six requests are due at once.
    assert_eq!(test.scheduler.dispatch(START + 50 * MS), Due::NoCapacity);
    assert_eq!(test.scheduler.send_assigned(0, START + 50 * MS), Action::Send);
    for reply in 51..=55 {
        assert_eq!(test.complete(0, START + reply * MS), Some(Action::Send));
    }
    assert_eq!(test.complete(0, START + 56 * MS), Some(Action::Wait));
    // The target takes 25 ms for a request that was in time: waiting for it is not lag.
    assert_eq!(test.scheduler.dispatch(START + 60 * MS), Due::At(START + 70 * MS));
    assert_eq!(test.scheduler.send_assigned(0, START + 60 * MS), Action::Send);
    assert_eq!(test.complete(0, START + 85 * MS), Some(Action::Send));
    assert_eq!(test.complete(0, START + 86 * MS), Some(Action::Send));
    let outcome = test.end();
    assert_eq!(outcome.lag, [0, 0, 0, 5, 14, 23, 32, 41, 50]);
}

#[test]
fn a_parked_dispatcher_is_woken_when_a_connection_is_idle() {
    let mut test = test(1, 1, 10, 1000);
    let wakes = Arc::new(WakeCount::default());
    test.scheduler.dispatch(START);
    test.scheduler.send_assigned(0, START);
    assert_eq!(test.scheduler.dispatch(START + 10 * MS), Due::NoCapacity);
    test.scheduler.dispatcher = Some(Waker::from(Arc::clone(&wakes)));
    assert_eq!(test.complete(0, START + 12 * MS), Some(Action::Send));
    assert_eq!(wakes.0.load(Relaxed), 0);
    assert_eq!(test.complete(0, START + 13 * MS), Some(Action::Wait));
    assert_eq!((wakes.0.load(Relaxed), test.scheduler.dispatcher.is_some()), (1, false));
}

#[test]
fn a_request_assigned_to_a_lost_connection_goes_to_another() {
    let mut test = test(2, 1, 10, 1000);
    test.scheduler.dispatch(START);
    assert!(test.scheduler.has_assigned(0));
    test.scheduler.lost(0, START + MS, Failure::Reset);
    test.scheduler.dispatch(START + MS);
    assert_eq!(test.scheduler.send_assigned(1, START + MS), Action::Send);
    test.complete(1, START + 2 * MS);
    let outcome = test.end();
    assert_eq!((outcome.counters.sent, outcome.counters.completed, outcome.counters.failed), (1, 1, 0));
    assert_eq!(outcome.counters.errors.reset, 1);
    assert_eq!(outcome.response, [2]);
}

#[test]
fn a_lost_idle_connection_gets_no_requests_until_it_is_back() {
    let mut test = test(2, 1, 10, 1000);
    test.scheduler.lost(0, START, Failure::Reset);
    test.scheduler.dispatch(START);
    assert!(test.scheduler.has_assigned(1) && !test.scheduler.has_assigned(0));
    assert_eq!(test.scheduler.dispatch(START + 10 * MS), Due::NoCapacity);
    // Back, and listed as idle twice: it gets one request at a time.
    assert_eq!(test.scheduler.request(0, START + 11 * MS), Action::Send);
    assert_eq!(test.complete(0, START + 12 * MS), Some(Action::Wait));
    test.scheduler.lost(0, START + 13 * MS, Failure::Reset);
    assert_eq!(test.scheduler.request(0, START + 14 * MS), Action::Wait);
    assert_eq!(test.scheduler.dispatch(START + 20 * MS), Due::At(START + 30 * MS));
    assert_eq!(test.scheduler.dispatch(START + 30 * MS), Due::NoCapacity);
}

#[test]
fn the_sweep_ends_exactly_the_requests_older_than_the_timeout() {
    let mut test = test(3, 1, 0, 100);
    test.scheduler.send_assigned(0, START);
    test.scheduler.send_assigned(1, START + 50 * MS);
    test.scheduler.sweep(START + 99 * MS, 10 * MS);
    assert!(!test.scheduler.is_timed_out(0));
    test.scheduler.sweep(START + 107 * MS, 10 * MS);
    assert!(test.scheduler.is_timed_out(0) && !test.scheduler.is_timed_out(1));
    assert_eq!(test.wakes(0), 2);
    // A reply now is ignored; the lost connection is not counted again.
    assert_eq!(test.complete(0, START + 108 * MS), None);
    test.scheduler.lost(0, START + 109 * MS, Failure::Timeout);
    // A reply as late as the timeout is one even before the sweep.
    assert_eq!(test.complete(1, START + 150 * MS), None);
    let outcome = test.end();
    assert_eq!((outcome.counters.failed, outcome.counters.errors.timeout), (2, 2));
    // The timeout itself, not the time of the sweep.
    assert_eq!(outcome.response, [100, 100]);
}

#[test]
fn sweeps_examine_all_of_many_connections() {
    let connections = 100_000;
    let mut test = test(connections, 1, 0, 1600);
    for index in 0..connections as u32 {
        test.scheduler.send_assigned(index, START);
    }
    // Ten calls of 10 ms make one round through all connections.
    for call in 0..=10 {
        test.scheduler.sweep(START + 1600 * MS + call * 10 * MS, 10 * MS);
    }
    assert!((0..connections as u32).all(|index| test.scheduler.is_timed_out(index)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Each intended time is used once, in order, and every request is in one count.
    #[test]
    fn no_request_is_lost_or_sent_twice(
        depth in 1u32..4,
        steps in proptest::collection::vec((0u32..4, 0u8..12, 0u64..30), 1..200),
    ) {
        let mut test = test(4, depth, 10, 200);
        let mut now = START;
        let mut open = [true; 4];
        let mut closing = [false; 4];
        for (index, what, pause) in steps {
            now += pause * MS;
            test.scheduler.dispatch(now);
            let slot = index as usize;
            let awaits_reply = test.scheduler.slots[slot].times().is_some();
            match what {
                0 if open[slot] => {
                    test.scheduler.lost(index, now, Failure::Reset);
                    open[slot] = false;
                }
                1 if !open[slot] => {
                    for _ in 0..depth {
                        test.request(index, now);
                    }
                    (open[slot], closing[slot]) = (true, false);
                }
                2 => test.scheduler.sweep(now, 10 * MS),
                3 if open[slot] && awaits_reply && depth > 1 => {
                    test.send_assigned(index, now);
                    test.scheduler.stop_sending(index, now);
                    closing[slot] = true;
                }
                _ if open[slot] && test.scheduler.is_timed_out(index) => {
                    test.scheduler.lost(index, now, Failure::Timeout);
                    open[slot] = false;
                }
                _ if open[slot] && awaits_reply && !closing[slot] => open[slot] = test.answer(index, now),
                _ if open[slot] && awaits_reply => {
                    open[slot] = test.scheduler.record_reply(index, now, Ok(()), None, |_| ());
                    match test.scheduler.pipelines[slot].queued.is_empty() {
                        true => {
                            test.scheduler.suspend(index);
                            open[slot] = false;
                        }
                        false => test.scheduler.remove_oldest(index),
                    }
                }
                _ if open[slot] => {
                    test.send_assigned(index, now);
                }
                _ => (),
            }
            prop_assert_eq!(test.scheduler.available, (0..4).filter(|slot| test.has_capacity(*slot)).count());
        }
        let taken = test.scheduler.schedule.as_ref().unwrap().taken;
        let outcome = test.end();
        let counters = &outcome.counters;
        prop_assert_eq!(taken, counters.completed + counters.failed + counters.unanswered);
        prop_assert!(counters.sent <= taken);
        prop_assert_eq!(outcome.lag.len() as u64, counters.sent);
    }
}
