//! Sums of two threads' hand-written intervals.

use super::*;
use crate::schedule::{Arrival, Profile, Share};
use brunt_results::hlog;

const S: u64 = SECOND_NS;
const MS: u64 = 1_000_000;
/// The load starts at 3 s of the run's clock.
const START: u64 = 3 * S;

fn schedules(rate: f64) -> Vec<Schedule> {
    let share = |thread| Share { thread, threads: 2, connections: 2, group: 2 };
    (0..2).map(|thread| Schedule::new(Arrival::Constant, Profile::constant(rate), 1, share(thread))).collect()
}

fn collector(schedules: Vec<Schedule>) -> Collector {
    Collector::new(2, START, SystemTime::UNIX_EPOCH, schedules)
}

/// Interval `number` of a thread that used half of its core: seconds `from` to `to` of the load.
fn interval(number: u32, phase: Phase, from: u64, to: u64) -> Interval {
    let usage = |at_ns: u64| Usage { at_ns, cpu_ns: at_ns / 2, spin_ns: at_ns / 10 };
    Interval {
        number,
        phase,
        start_ns: START + from * S,
        end_ns: START + to * S,
        usage_start: usage(START + from * S),
        usage_end: usage(START + to * S),
        connections: 1,
        ..Default::default()
    }
}

#[test]
fn seconds_come_out_in_order_once_every_thread_has_reported() {
    let mut collector = collector(schedules(10.0));
    let mut take = |thread, number, phase, from, to, completed| {
        let mut interval = interval(number, phase, from, to);
        interval.counters.completed = completed;
        interval.response.record(completed * MS);
        collector.take(thread, &mut interval);
        std::iter::from_fn(|| collector.next_second(false)).collect::<Vec<_>>()
    };
    assert!(take(0, 0, Phase::Connect, 0, 0, 0).is_empty());
    assert!(take(0, 1, Phase::Warmup, 0, 1, 1).is_empty());
    assert!(take(0, 2, Phase::Window, 1, 2, 2).is_empty());
    assert!(take(1, 0, Phase::Connect, 0, 0, 0).is_empty());
    let first = take(1, 1, Phase::Warmup, 0, 1, 30);
    let second = take(1, 2, Phase::Window, 1, 2, 40);
    let of =
        |seconds: &[Second]| seconds.iter().map(|s| (s.at_s, s.warmup, s.completed, s.offered)).collect::<Vec<_>>();
    let counts = [&first, &second].map(|all| all.iter().map(|(_, response)| response.len()).sum::<u64>());
    assert_eq!(counts, [2, 2]);
    let [first, second] = [first, second].map(|all| all.into_iter().map(|(second, _)| second).collect::<Vec<_>>());
    assert_eq!(of(&first), [(1.0, true, 31, Some(10))]);
    assert_eq!(of(&second), [(2.0, false, 42, Some(10))]);
    assert_eq!((second[0].connections, second[0].generator_cpu_percent), (2, Some(100.0)));
    // The percentile of the values of both threads, not a mean of two percentiles.
    assert!((second[0].p50_us.unwrap() / 2000.0 - 1.0).abs() < 0.002);
    assert!((second[0].p99_us.unwrap() / 40_000.0 - 1.0).abs() < 0.002);
}

#[test]
fn log_and_result_are_the_window_and_its_unanswered_requests() {
    // At 4/s over two threads and 3 s, 12 requests; each thread has taken one less than its six.
    let mut unsent = schedules(4.0);
    unsent.iter_mut().for_each(|schedule| assert_eq!(schedule.skip_to(2_300_000_000), 5));
    let mut collector = collector(schedules(4.0));
    for thread in 0..2 {
        for (number, phase) in [(1, Phase::Warmup), (2, Phase::Window), (3, Phase::Window), (4, Phase::Drain)] {
            let mut interval = interval(number, phase, u64::from(number - 1), u64::from(number));
            // One of the drain is lost late.
            interval.counters.of_window.failed = 1;
            interval.counters.of_window.errors.timeout = 1;
            interval.counters.errors.connect = 1;
            interval.counters.of_window.errors.connect = u64::from(phase == Phase::Window);
            interval.counters.unanswered = 2 * u64::from(number == 3);
            for histogram in [&mut interval.response, &mut interval.service, &mut interval.lag, &mut interval.error] {
                histogram.record(u64::from(number) * MS);
            }
            collector.take(thread, &mut interval);
        }
    }
    while let Some((second, _)) = collector.next_second(false) {
        collector.keep(second);
    }
    let totals = collector.finish(&unsent, [START + S, START + 3 * S], |_, _, _| ());
    assert_eq!(totals.seconds.len(), 3);
    // The figures so far are those of the window, with the failures to connect since the start; earlier ones are dropped.
    let so_far = totals.seconds[2].so_far.as_ref().unwrap();
    assert_eq!((so_far.response.count, so_far.errors.timeout, so_far.errors.connect), (4, 4, 6));
    assert_eq!((so_far.busiest_thread_percent, &totals.seconds[1].so_far), (Some(40.0), &None));
    // Failures of the window and the drain, failures to connect of the whole run until the drain.
    let of_window = &totals.counters.of_window;
    assert_eq!((of_window.failed, of_window.errors.timeout, of_window.errors.connect), (6, 6, 6));
    // In flight at the end of the window or never sent, without those that were lost after it.
    assert_eq!((totals.counters.unanswered, totals.counters.abandoned), (4 + 2 - 2, 2));
    // Window 2, 2, 3, 3; drain 4, 4; unsent since 2.5 s and 2.75 s until 3 s.
    let censored = totals.latency.censored.as_ref().unwrap();
    assert_eq!((totals.latency.response.len(), censored.len(), censored.max() / MS), (6, 2, 500));
    assert_eq!(totals.threads.iter().map(|t| t.percent()).collect::<Vec<_>>(), [(50.0, 10.0); 2]);

    for (tag, values) in totals.latency.by_tag() {
        let values = if tag == "response" { &totals.latency.all_responses() } else { values };
        assert_eq!(hlog::distribution(&totals.hlog, tag).as_ref(), Ok(values), "{tag}");
    }
    let text = String::from_utf8(totals.hlog).unwrap();
    let start = |line: &str| line.split(',').nth(1)?.parse::<f64>().ok();
    let starts: Vec<f64> = text.lines().filter(|line| line.starts_with("Tag=")).filter_map(start).collect();
    assert_eq!(starts.len(), 13);
    assert!(starts.is_sorted() && starts[0] >= 1.0, "the warm-up is not in the log: {starts:?}");
}

#[test]
fn a_closed_loop_derives_response_and_lag_from_service() {
    let mut collector = collector(Vec::new());
    for thread in 0..2 {
        let mut interval = interval(1, Phase::Window, 0, 1);
        (1..=10).for_each(|ms| interval.service.record(ms * MS));
        // A timeout has a response time and no service time.
        interval.response.record(100 * MS);
        collector.take(thread, &mut interval);
    }
    let (second, response) = collector.next_second(false).unwrap();
    assert_eq!(response.len(), 22);
    assert_eq!((second.offered, second.lag_p99_us), (None, Some(0.0)));
    let latency = collector.finish(&[], [START, START + S], |_, _, _| ()).latency;
    assert_eq!((latency.service.len(), latency.response.len(), latency.lag.len()), (20, 22, 20));
    assert_eq!((latency.service.max() / MS, latency.response.max() / MS, latency.lag.max()), (10, 100, 0));
}

#[test]
fn seconds_of_threads_that_go_on_after_another_has_ended_are_kept() {
    let mut collector = collector(Vec::new());
    for number in 1..4 {
        collector.take(0, &mut interval(number, Phase::Window, u64::from(number - 1), u64::from(number)));
    }
    assert!(collector.next_second(false).is_none());
    let rest: Vec<f64> = std::iter::from_fn(|| collector.next_second(true)).map(|(second, _)| second.at_s).collect();
    assert_eq!(rest, [1.0, 2.0, 3.0]);
}

#[test]
fn seconds_after_the_end_of_a_thread_are_complete_without_it() {
    let mut collector = collector(Vec::new());
    let mut take = |thread, number, phase, from, to| {
        collector.take(thread, &mut interval(number, phase, from, to));
        std::iter::from_fn(|| collector.next_second(false)).map(|(second, _)| second.at_s).collect::<Vec<_>>()
    };
    // One without a window, which has no share of a number of requests.
    assert!(take(0, 0, Phase::Connect, 0, 0).is_empty());
    assert!(take(0, 1, Phase::Drain, 0, 0).is_empty());
    assert!(take(1, 0, Phase::Connect, 0, 0).is_empty());
    assert_eq!(take(1, 1, Phase::Window, 0, 1), [1.0]);
    assert_eq!(take(1, 2, Phase::Window, 1, 2), [2.0]);
}
