//! Counts in short intervals against targets with known service times.

use crate::targets::{Stream, echo_after, serial, serve};
use crate::worlds::{MS, SIZE, addresses, beside, on, options};
use brunt_load::{Counting, Observer, Options, Report, run_in_world};
use brunt_results::counts::Counts;
use brunt_runtime::sim::World;
use std::time::Duration;

/// Far from all service times.
const LIMIT: Duration = Duration::from_millis(40);
const EVERY: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Lines(Vec<Counts>);

impl Observer for Lines {
    fn counts(&mut self, counts: &Counts) {
        self.0.push(*counts);
    }
}

fn counted(options: Options, target: impl Future<Output = ()> + 'static) -> (Report, Vec<Counts>) {
    let counts = Some(Counting { every: EVERY, limit: LIMIT, quantile: 0.99 });
    let mut lines = Lines::default();
    let report =
        beside(&World::new(1), target, run_in_world(&Options { counts, ..options.clone() }, &mut lines)).unwrap();
    assert!(lines.0.iter().all(|line| line.slow <= line.count && line.seconds > 0.0), "{:?}", lines.0);
    let requests = &report.result.requests;
    if options.warmup.is_zero() {
        assert_eq!(sum(&lines.0, |line| line.count), requests.completed + requests.failed + requests.unanswered);
    }
    (report, lines.0)
}

fn sum(lines: &[Counts], count: fn(&Counts) -> u64) -> u64 {
    lines.iter().map(count).sum()
}

#[test]
fn counts_add_up_to_the_requests_of_the_result_and_slow_ones_are_those_that_took_long() {
    for address in addresses() {
        // Each reply at once, but for one in ten, so that requests take 70, 50, 30 and 10 ms.
        let service = |number| if number % 10 == 9 { 70 * MS } else { Duration::ZERO };
        let load = Options { rate: Some(50.0), duration: Duration::from_secs(2), ..on(address, options()) };
        let (_, lines) = counted(load, serial(Duration::ZERO, service));
        // Ten take 70 ms and nine 50 ms: the last of them, due at 1.98 s, is slow before its reply.
        assert_eq!((sum(&lines, |line| line.count), sum(&lines, |line| line.slow)), (100, 19), "{lines:?}");
        let offered: f64 = lines.iter().map(|line| line.offered.unwrap() * line.seconds).sum();
        assert!((offered - 100.0).abs() < 1e-6, "{offered}");
    }
}

#[test]
fn a_closed_loop_counts_each_request_once() {
    let (report, lines) = counted(Options { connections: 2, ..options() }, echo_after(Duration::ZERO));
    assert_eq!(sum(&lines, |line| line.count), report.result.bytes.sent / SIZE as u64);
}

#[test]
fn requests_that_fail_are_slow() {
    let load = Options { rate: Some(100.0), connections: 2, ..options() };
    let (report, lines) = counted(load, serve(async |stream: Stream| drop(stream)));
    assert_eq!((report.result.requests.completed, sum(&lines, |line| line.slow)), (0, 100));
}

#[test]
fn a_target_that_stops_answering_is_slow_and_not_idle() {
    // Half a second into the load, nothing is answered any more.
    let service = |number| if number < 100 { Duration::ZERO } else { Duration::from_secs(3600) };
    let load = Options { rate: Some(200.0), connections: 2, duration: Duration::from_secs(2), ..options() };
    let (report, lines) = counted(load, serial(Duration::ZERO, service));
    assert_eq!(report.result.requests.completed, 100);
    // Twenty in each interval of the first half second, of which none is slow. Due from 0.5 s on and slow 40 ms later: thirteen are
    // when the sixth interval ends, those due at 0.5 and 0.56 s included, and twenty more when each later one does.
    let counts: Vec<(u64, u64)> = lines.iter().map(|line| (line.count, line.slow)).collect();
    assert_eq!(counts, [vec![(20, 0); 5], vec![(13, 13)], vec![(20, 20); 14], vec![(7, 7)]].concat());
    for line in &lines[..19] {
        assert!((line.offered.unwrap() - 200.0).abs() < 10.1, "{line:?}");
    }
    // The oldest was due at 0.5 s; the 99th percentile of what is slow in flight is near it.
    let latency = lines[15].latency_ms;
    assert!((1080.0..1101.0).contains(&latency), "{latency}");
}

#[test]
fn lines_come_at_their_times_on_the_clock_of_the_machine() {
    let load = Options { rate: Some(20.0), warmup: 300 * MS, threads: vec![None; 2], connections: 2, ..options() };
    let (_, lines) = counted(load, echo_after(Duration::ZERO));
    // The requests of the warm-up too.
    assert_eq!((sum(&lines, |line| line.count), sum(&lines, |line| line.slow)), (26, 0));
    // Behind the thirteenth there are only those moments by which threads end apart.
    let (lines, rest) = lines.split_at(13);
    assert!(rest.iter().all(|line| line.seconds < 0.001), "{rest:?}");
    for (number, line) in lines.iter().enumerate() {
        let end = line.end.unwrap() - lines[0].end.unwrap();
        assert!((end - 0.1 * number as f64).abs() < 20e-6 && (line.seconds - 0.1).abs() < 20e-6, "{line:?}");
    }
}
