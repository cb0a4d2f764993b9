//! Each rule of the recorder, with hand-written times.

use super::*;
use crate::measure::histogram::tests::millis;
use crate::measure::interval::Usage;
use crate::measure::links::Budget;
use brunt_results::result::Errors;
use std::sync::{Arc, atomic::AtomicU64};

const S: u64 = SECOND_NS;
const MS: u64 = S / 1000;
const OPEN: u64 = 11 * S + S / 2;

/// A run that starts at 10 s and closes its window at 14 s, unless it is ended before.
struct Run {
    recorder: Recorder,
    close: Arc<AtomicU64>,
}

impl Run {
    fn new(closed_loop: bool, budget: Option<u64>) -> Self {
        let close = Arc::new(AtomicU64::new(u64::MAX));
        let links = Links {
            open: Arc::default(),
            close: Arc::clone(&close),
            window_close: Arc::new(AtomicU64::new(u64::MAX)),
            budget: budget.map(|limit| Arc::new(Budget::new(limit))),
            meter: Box::new(Usage::default),
        };
        let mut recorder = Recorder::new(closed_loop, links, None, Breakdown::default());
        close.store(14 * S, Relaxed);
        recorder.begin(10 * S, OPEN);
        Self { recorder, close }
    }

    /// Sends a request; without generator lag it would have been sent at `base`.
    fn send(&mut self, intended: u64, sent: u64, base: u64) {
        self.recorder.taken();
        self.recorder.sent(sent, intended, base);
    }

    fn request(&mut self, intended: u64, sent: u64, done: u64) {
        self.send(intended, sent, intended);
        self.recorder.completed(done, intended, sent, None, |_| ());
    }

    fn end(mut self, now: u64, unanswered: &[u64]) -> Vec<Interval> {
        self.recorder.advance(now);
        self.recorder.finish(now, unanswered.iter().map(|intended| (*intended, None)), 0);
        std::iter::from_fn(move || self.recorder.finished.pop_front().map(|interval| *interval)).collect()
    }
}

fn of_phase(intervals: &mut [Interval], phase: Phase) -> Vec<&mut Interval> {
    intervals.iter_mut().filter(|i| i.phase == phase).collect()
}

fn total(intervals: &[&mut Interval], count: fn(&Counters) -> u64) -> u64 {
    intervals.iter().map(|i| count(&i.counters)).sum()
}

#[test]
fn intervals_end_at_their_exact_nanosecond_without_events() {
    let intervals = Run::new(false, None).end(20 * S, &[]);
    let spans: Vec<_> = intervals.iter().map(|i| (i.phase, i.start_ns, i.end_ns)).collect();
    let expected = [
        (Phase::Connect, 0, 10 * S),
        (Phase::Warmup, 10 * S, 11 * S),
        (Phase::Warmup, 11 * S, OPEN),
        (Phase::Window, OPEN, OPEN + S),
        (Phase::Window, OPEN + S, OPEN + 2 * S),
        (Phase::Window, OPEN + 2 * S, 14 * S),
        (Phase::Drain, 14 * S, 20 * S),
    ];
    assert_eq!(spans, expected);
    assert!(intervals.iter().enumerate().all(|(i, x)| x.number == i as u32));
}

#[test]
fn a_warmup_request_that_ends_in_the_window_completes_without_a_latency() {
    let mut run = Run::new(false, None);
    run.request(11 * S, 11 * S, 12 * S);
    run.request(12 * S, 12 * S, 12 * S + 5 * MS);
    let mut intervals = run.end(15 * S, &[]);
    let first = &mut of_phase(&mut intervals, Phase::Window)[0];
    assert_eq!(first.counters.completed, 2);
    assert_eq!((millis([&mut first.response]), millis([&mut first.service])), (vec![5], vec![5]));
}

#[test]
fn unanswered_requests_have_waited_until_the_end() {
    let mut run = Run::new(false, None);
    for intended in [11 * S, 13 * S, 13 * S + S / 2] {
        run.send(intended, intended, intended);
    }
    // Answered in the drain: its true response time, and not a completion of the window.
    run.recorder.completed(14 * S + S / 10, 13 * S, 13 * S, None, |_| ());
    let mut intervals = run.end(14 * S + S / 2, &[11 * S, 13 * S + S / 2]);
    let window = of_phase(&mut intervals, Phase::Window);
    assert_eq!((total(&window, |c| c.completed), total(&window, |c| c.unanswered)), (0, 3));
    let drain = of_phase(&mut intervals, Phase::Drain);
    assert_eq!((total(&drain, |c| c.completed), total(&drain, |c| c.abandoned)), (0, 1));
    // The one intended in the warm-up leaves no latency.
    let Interval { response, censored, .. } = &mut *of_phase(&mut intervals, Phase::Drain)[0];
    assert_eq!((millis([response]), millis(censored)), (vec![1100], vec![1000]));
}

#[test]
fn response_time_counts_from_the_intended_time_and_lag_from_capacity() {
    let mut run = Run::new(false, None);
    let at = 12 * S;
    run.recorder.waited(at + 30 * MS);
    // Due at `at`, no connection free until 30 ms later, sent 2 ms after that, answered 8 ms after that.
    run.send(at, at + 32 * MS, at + 30 * MS);
    run.recorder.completed(at + 40 * MS, at, at + 32 * MS, None, |_| ());
    let mut intervals = run.end(15 * S, &[]);
    let first = &mut of_phase(&mut intervals, Phase::Window)[0];
    let Interval { response, service, lag, counters, .. } = &mut **first;
    assert_eq!((millis([response]), millis([service]), millis([lag])), (vec![40], vec![8], vec![2]));
    assert_eq!(counters.waited, 1);
}

#[test]
fn requests_without_a_complete_reply_have_waited_and_have_no_response_time() {
    let mut run = Run::new(false, None);
    let at = 12 * S;
    (0..2).for_each(|_| run.send(at, at, at));
    run.recorder.failed(at + 103 * MS, Failure::Timeout, at, Some(at + 100 * MS));
    run.recorder.failed(at + 104 * MS, Failure::Reset, at, None);
    run.recorder.connection_error(at + 105 * MS, Failure::Connect);
    let mut intervals = run.end(15 * S, &[]);
    let first = &mut of_phase(&mut intervals, Phase::Window)[0];
    let Interval { response, censored, error, .. } = &mut **first;
    assert_eq!((millis([response]), millis(censored), millis([error])), (vec![], vec![100, 104], vec![100, 104]));
    let errors = Errors { timeout: 1, reset: 1, connect: 1, ..Default::default() };
    assert_eq!((first.counters.failed, &first.counters.errors), (2, &errors));
}

#[test]
fn a_refused_reply_has_the_time_of_an_error_alone_also_after_the_window() {
    let mut run = Run::new(false, None);
    for at in [12 * S, 13 * S] {
        run.send(at, at, at);
    }
    run.recorder.rejected(12 * S + 3 * MS, Failure::Status, 12 * S, |_| ());
    run.recorder.rejected(14 * S + 7 * MS, Failure::Mismatch, 13 * S, |_| ());
    let mut intervals = run.end(15 * S, &[]);
    for (phase, ms) in [(Phase::Window, 3), (Phase::Drain, 1007)] {
        let mut all = of_phase(&mut intervals, phase);
        assert_eq!(millis(all.iter_mut().map(|interval| &mut interval.error)), [ms], "{phase:?}");
        assert!(
            all.iter_mut().all(|interval| interval.censored.is_none() && millis([&mut interval.response]).is_empty())
        );
    }
}

#[test]
fn a_budget_ends_the_window_after_exactly_that_many_completions() {
    let mut run = Run::new(true, Some(3));
    run.request(11 * S, 11 * S, 11 * S + 1);
    for at in (0..5).map(|i| 12 * S + i * 1000) {
        run.request(at, at, at + 500);
    }
    assert_eq!(run.close.load(Relaxed), 12 * S + 2501);
    let mut intervals = run.end(14 * S, &[]);
    let window = of_phase(&mut intervals, Phase::Window);
    assert_eq!((total(&window, |c| c.completed), window.last().unwrap().end_ns), (3, 12 * S + 2501));
}

#[test]
fn a_request_of_the_warm_up_is_none_of_a_budget() {
    for failure in [None, Some(Failure::Status), Some(Failure::Reset)] {
        let mut run = Run::new(true, Some(1));
        let (sent, done) = (OPEN - MS, OPEN + MS);
        run.send(sent, sent, sent);
        match failure {
            None => run.recorder.completed(done, sent, sent, None, |_| ()),
            Some(Failure::Status) => run.recorder.rejected(done, Failure::Status, sent, |_| ()),
            Some(failure) => run.recorder.failed(done, failure, sent, None),
        }
        run.request(12 * S, 12 * S, 12 * S + MS);
        assert_eq!(run.close.load(Relaxed), 12 * S + MS + 1, "{failure:?}");
        let mut intervals = run.end(14 * S, &[]);
        let window = of_phase(&mut intervals, Phase::Window);
        let counts = [total(&window, |c| c.completed), total(&window, |c| c.failed), total(&window, |c| c.unanswered)];
        assert_eq!((counts, total(&window, |c| c.errors.total())), ([1, 0, 0], 0), "{failure:?}");
    }
}

#[test]
fn a_budget_of_an_open_loop_lasts_until_the_next_request_would_be_due() {
    for (until, end) in [(13 * S, 13 * S), (12 * S, 12 * S + MS + 1)] {
        let mut run = Run::new(false, Some(1));
        run.recorder.links.budget.as_ref().unwrap().begin(until);
        run.request(12 * S, 12 * S, 12 * S + MS);
        assert_eq!(run.close.load(Relaxed), end);
    }
}

#[test]
fn bytes_belong_to_the_interval_in_which_they_moved() {
    let mut run = Run::new(true, None);
    run.recorder.advance(10 * S);
    run.recorder.bytes().sent += 100;
    run.recorder.advance(12 * S);
    run.recorder.bytes().sent += 150;
    run.recorder.bytes().received += 40;
    let mut intervals = run.end(15 * S, &[]);
    assert_eq!(of_phase(&mut intervals, Phase::Warmup)[0].counters.bytes.sent, 100);
    let window = of_phase(&mut intervals, Phase::Window);
    assert_eq!((total(&window, |c| c.bytes.sent), total(&window, |c| c.bytes.received)), (150, 40));
}

#[test]
fn a_request_without_a_reply_spends_the_budget() {
    let mut run = Run::new(true, Some(2));
    for (number, at) in (0..3).map(|i| (i, 12 * S + i * 10 * MS)) {
        run.send(at, at, at);
        let (failure, due) = if number == 0 { (Failure::Timeout, Some(at + MS)) } else { (Failure::Reset, None) };
        run.recorder.failed(at + MS, failure, at, due);
    }
    let mut intervals = run.end(14 * S, &[]);
    let window = of_phase(&mut intervals, Phase::Window);
    assert_eq!((total(&window, |c| c.failed), total(&window, |c| c.errors.reset)), (2, 1));
    assert_eq!(window.last().unwrap().end_ns, 12 * S + 11 * MS + 1);
}

#[test]
fn a_rejected_reply_spends_the_budget_and_leaves_no_response_time() {
    let mut run = Run::new(false, Some(2));
    for at in (0..3).map(|i| 12 * S + i * 10 * MS) {
        run.send(at, at, at);
        run.recorder.rejected(at + MS, Failure::Status, at, |counters| counters.replies.record(503, 7));
    }
    let mut intervals = run.end(14 * S, &[]);
    let first = of_phase(&mut intervals, Phase::Window).pop().unwrap();
    assert_eq!((first.counters.completed, first.counters.failed, first.counters.errors.status), (0, 2, 2));
    // A reply after the end of the window is not counted.
    let replies = first.counters.replies.responses();
    assert_eq!((replies.statuses["503"], replies.body_bytes), (2, Some(14)));
    assert_eq!((millis([&mut first.error]), millis([&mut first.response])), (vec![1, 1], vec![]));
}
