//! The recorder's rules, each one held down by hand-written times.

use super::*;
use brunt_results::{latency::new_histogram, result::Errors};
use hdrhistogram::Histogram;

const S: u64 = SECOND_NS;

/// A run that starts at 10 s, opens its window at 11.5 s and closes it at 14 s, unless it is ended before.
struct Run {
    recorder: Recorder,
    close: Arc<AtomicU64>,
}

impl Run {
    fn new(closed_loop: bool, budget: Option<u64>) -> Self {
        let close = Arc::new(AtomicU64::new(u64::MAX));
        let links = Links {
            close: Arc::clone(&close),
            budget: budget.map(|limit| Arc::new(Budget::new(limit))),
            meter: Box::new(Usage::default),
        };
        let mut recorder = Recorder::new(closed_loop, links);
        close.store(14 * S, Relaxed);
        recorder.begin(10 * S, 11 * S + S / 2);
        Self { recorder, close }
    }

    fn request(&mut self, intended: u64, sent: u64, done: u64) {
        self.recorder.taken();
        self.recorder.sent(sent, intended, intended);
        self.recorder.completed(done, intended, sent, |_| ());
    }

    fn end(mut self, now: u64, unanswered: &[u64]) -> Vec<Interval> {
        self.recorder.advance(now);
        self.recorder.finish(now, unanswered.iter().copied());
        std::iter::from_fn(move || self.recorder.take_finished().map(|interval| *interval)).collect()
    }
}

fn values(counts: &mut crate::measure::histogram::RawHistogram) -> Vec<u64> {
    let mut histogram: Histogram<u64> = new_histogram();
    counts.merge_into(&mut histogram);
    let ms = |v: u64| (v as f64 / 1e6).round() as u64;
    histogram
        .iter_recorded()
        .flat_map(|v| {
            std::iter::repeat_n(ms(histogram.median_equivalent(v.value_iterated_to())), v.count_at_value() as usize)
        })
        .collect()
}

fn of_phase(intervals: &mut [Interval], phase: Phase) -> Vec<&mut Interval> {
    intervals.iter_mut().filter(|i| i.phase == phase).collect()
}

#[test]
fn intervals_end_at_their_exact_nanosecond_even_when_nothing_happens() {
    let intervals = Run::new(false, None).end(20 * S, &[]);
    let spans: Vec<_> = intervals.iter().map(|i| (i.phase, i.start_ns, i.end_ns)).collect();
    let open = 11 * S + S / 2;
    let expected = [
        (Phase::Connect, 0, 10 * S),
        (Phase::Warmup, 10 * S, 11 * S),
        (Phase::Warmup, 11 * S, open),
        (Phase::Window, open, open + S),
        (Phase::Window, open + S, open + 2 * S),
        (Phase::Window, open + 2 * S, 14 * S),
        (Phase::Drain, 14 * S, 20 * S),
    ];
    assert_eq!(spans, expected);
    assert!(intervals.iter().enumerate().all(|(i, x)| x.number == i as u32));
}

#[test]
fn a_request_of_the_warmup_that_ends_in_the_window_is_a_completion_without_a_latency() {
    let mut run = Run::new(false, None);
    run.request(11 * S, 11 * S, 12 * S);
    run.request(12 * S, 12 * S, 12 * S + 5_000_000);
    let mut intervals = run.end(15 * S, &[]);
    let mut window = of_phase(&mut intervals, Phase::Window);
    assert_eq!(window[0].counters.completed, 2);
    assert_eq!(values(&mut window[0].response), [5]);
    assert_eq!(values(&mut window[0].service), [5]);
}

#[test]
fn what_is_unanswered_at_the_end_waited_at_least_so_long() {
    let mut run = Run::new(false, None);
    for intended in [11 * S, 13 * S, 13 * S + S / 2] {
        run.recorder.taken();
        run.recorder.sent(intended, intended, intended);
    }
    // Answered while draining: its true response time, and still no completion of the window.
    run.recorder.completed(14 * S + S / 10, 13 * S, 13 * S, |_| ());
    let mut intervals = run.end(14 * S + S / 2, &[11 * S, 13 * S + S / 2]);
    let window = of_phase(&mut intervals, Phase::Window);
    let counters = |f: fn(&Interval) -> u64| window.iter().map(|i| f(i)).sum::<u64>();
    assert_eq!((counters(|i| i.counters.completed), counters(|i| i.counters.unanswered)), (0, 3));
    // The one intended in the warm-up leaves no latency.
    assert_eq!(values(&mut of_phase(&mut intervals, Phase::Drain)[0].response), [1000, 1100]);
}

#[test]
fn response_counts_from_the_intended_time_and_lag_from_the_generators_own_fault() {
    let mut run = Run::new(false, None);
    let at = 12 * S;
    let ms = 1_000_000;
    run.recorder.taken();
    run.recorder.waited(at + 30 * ms);
    // Due at `at`, no connection free until 30 ms later, sent 2 ms after that, answered 8 ms after that.
    run.recorder.sent(at + 32 * ms, at, at + 30 * ms);
    run.recorder.completed(at + 40 * ms, at, at + 32 * ms, |_| ());
    let mut intervals = run.end(15 * S, &[]);
    let mut window = of_phase(&mut intervals, Phase::Window);
    let first = &mut window[0];
    assert_eq!(values(&mut first.response), [40]);
    assert_eq!(values(&mut first.service), [8]);
    assert_eq!(values(&mut first.lag), [2]);
    assert_eq!(first.counters.waited, 1);
}

#[test]
fn a_timeout_is_a_response_time_and_a_reset_is_not() {
    let mut run = Run::new(false, None);
    let (at, ms) = (12 * S, 1_000_000);
    for _ in 0..2 {
        run.recorder.taken();
        run.recorder.sent(at, at, at);
    }
    run.recorder.failed(at + 103 * ms, Failure::Timeout, at, Some(at + 100 * ms));
    run.recorder.failed(at + 104 * ms, Failure::Reset, at, None);
    run.recorder.connection_error(at + 105 * ms, Failure::Connect);
    let mut intervals = run.end(15 * S, &[]);
    let mut window = of_phase(&mut intervals, Phase::Window);
    let first = &mut window[0];
    assert_eq!(values(&mut first.response), [100]);
    assert_eq!(values(&mut first.error), [100, 104]);
    let errors = Errors { timeout: 1, reset: 1, connect: 1, ..Default::default() };
    assert_eq!((first.counters.failed, &first.counters.errors), (2, &errors));
}

#[test]
fn a_budget_ends_the_window_at_exactly_so_many_completions() {
    let mut run = Run::new(true, Some(3));
    run.request(11 * S, 11 * S, 11 * S + 1);
    for i in 0..5 {
        let at = 12 * S + i * 1000;
        run.request(at, at, at + 500);
    }
    assert_eq!(run.close.load(Relaxed), 12 * S + 2501);
    let mut intervals = run.end(14 * S, &[]);
    let window = of_phase(&mut intervals, Phase::Window);
    let (completed, end) = (window.iter().map(|i| i.counters.completed).sum::<u64>(), window.last().unwrap().end_ns);
    assert_eq!((completed, end), (3, 12 * S + 2501));
}

#[test]
fn a_thread_that_has_not_seen_the_end_yet_does_not_count_beyond_the_budget() {
    let mut first = Run::new(true, Some(1));
    let mut second = Run::new(true, None);
    let budget = first.recorder.links.budget.clone();
    second.recorder.links.budget = budget;
    first.request(12 * S, 12 * S, 12 * S + 2000);
    // Done before the first thread's, but reported after it.
    second.request(12 * S, 12 * S, 12 * S + 1000);
    let mut intervals = second.end(14 * S, &[]);
    let window = &mut of_phase(&mut intervals, Phase::Window)[0];
    assert_eq!((window.counters.completed, window.counters.unanswered), (0, 1));
    assert!(values(&mut window.service).is_empty());
}

#[test]
fn bytes_belong_to_the_interval_in_which_they_moved() {
    let mut run = Run::new(true, None);
    run.recorder.advance(10 * S);
    run.recorder.moved_out(100);
    run.recorder.advance(12 * S);
    run.recorder.moved_out(150);
    run.recorder.moved_in(40);
    let mut intervals = run.end(15 * S, &[]);
    assert_eq!(of_phase(&mut intervals, Phase::Warmup)[0].counters.bytes.sent, 100);
    let sum = of_phase(&mut intervals, Phase::Window)
        .iter()
        .fold((0, 0), |(s, r), i| (s + i.counters.bytes.sent, r + i.counters.bytes.received));
    assert_eq!(sum, (150, 40));
}

#[test]
fn a_rejected_reply_spends_the_budget_and_leaves_no_response_time() {
    let mut run = Run::new(false, Some(2));
    let ms = S / 1000;
    for i in 0..3 {
        let at = 12 * S + i * 10 * ms;
        run.recorder.taken();
        run.recorder.sent(at, at, at);
        run.recorder.rejected(at + ms, Failure::Status, at, |counters| counters.replies.note(503, 7));
    }
    let mut intervals = run.end(14 * S, &[]);
    let window = of_phase(&mut intervals, Phase::Window);
    let first = window.into_iter().next_back().unwrap();
    assert_eq!((first.counters.completed, first.counters.failed, first.counters.errors.status), (0, 2, 2));
    // What a reply behind the end of the window said belongs to nobody.
    let said = first.counters.replies.responses();
    assert_eq!((said.statuses["503"], said.body_bytes), (2, Some(14)));
    assert_eq!((values(&mut first.error), values(&mut first.response)), (vec![1, 1], vec![]));
}
