//! Counts in short intervals against targets with known service times.

use crate::shared::*;
use brunt_load::{Counting, Observer, Options, Report};
use brunt_results::counts::Counts;
use brunt_testkit::alone;
use std::time::{Duration, Instant};

/// Far from both service times, beyond what this machine adds.
const LIMIT: Duration = Duration::from_millis(40);

#[derive(Default)]
struct Lines(Vec<(Instant, Counts)>);

impl Observer for Lines {
    fn counts(&mut self, counts: &Counts) {
        self.0.push((Instant::now(), *counts));
    }
}

fn counted(options: Options) -> (Report, Vec<(Instant, Counts)>) {
    let counts = Some(Counting { every: 100 * MS, limit: LIMIT, quantile: 0.99 });
    let mut lines = Lines::default();
    let report = brunt_load::run(&Options { counts, ..options }, &mut lines).unwrap();
    assert!(lines.0.iter().all(|(_, line)| line.slow <= line.count && line.seconds > 0.0), "{:?}", lines.0);
    (report, lines.0)
}

fn sum(lines: &[(Instant, Counts)], count: fn(&Counts) -> u64) -> u64 {
    lines.iter().map(|(_, line)| count(line)).sum()
}

#[test]
fn counts_add_up_to_the_requests_of_the_result_and_slow_ones_are_those_that_took_long() {
    let _turn = alone();
    for protocol in PROTOCOLS {
        // Each reply at once, but for one in ten, so that requests take 70, 50, 30 and 10 ms.
        let service = |number| if number % 10 == 9 { 70 * MS } else { Duration::ZERO };
        let (report, lines) = counted(Options {
            rate: Some(50.0),
            connections: 1,
            duration: Duration::from_secs(2),
            ..options(serial(protocol, service))
        });
        let requests = &report.result.requests;
        let all = requests.completed + requests.failed + requests.unanswered;
        assert_eq!((sum(&lines, |line| line.count), all), (100, 100), "{lines:?}");
        let responses = &brunt_results::hlog::distribution(&report.hlog, "response").unwrap();
        let slow = responses.len() - responses.count_between(0, LIMIT.as_nanos() as u64);
        // One that ends just when it becomes slow may count as slow; time in which the generator was held up does not count.
        let counted = sum(&lines, |line| line.slow);
        assert!((10..=slow + 2).contains(&counted), "{counted} of {slow}");
        let offered: f64 = lines.iter().map(|(_, line)| line.offered.unwrap() * line.seconds).sum();
        assert!((offered - 100.0).abs() < 1e-6, "{offered}");
    }
}

#[test]
fn a_closed_loop_counts_each_request_once() {
    let _turn = alone();
    let (report, lines) = counted(options(target(echo)));
    let requests = &report.result.requests;
    let all = requests.completed + requests.failed + requests.unanswered;
    assert_eq!((sum(&lines, |line| line.count), report.result.bytes.sent / SIZE as u64), (all, all));
}

#[test]
fn requests_that_fail_are_slow() {
    let _turn = alone();
    let options = Options { rate: Some(100.0), ..options(target(drop)) };
    let (report, lines) = counted(options);
    let requests = &report.result.requests;
    let all = requests.completed + requests.failed + requests.unanswered;
    assert_eq!((requests.completed, sum(&lines, |line| line.count), sum(&lines, |line| line.slow)), (0, all, all));
}

#[test]
fn a_target_that_stops_answering_is_slow_and_not_idle() {
    let _turn = alone();
    // Half a second into the load, nothing is answered any more.
    let service = |number| if number < 100 { Duration::ZERO } else { Duration::from_secs(3600) };
    let begun = Instant::now();
    let (report, lines) = counted(Options {
        rate: Some(200.0),
        duration: Duration::from_secs(2),
        timeout: Duration::from_secs(10),
        ..options(serial(PROTOCOLS[0], service))
    });
    assert_eq!(report.result.requests.completed, 100);
    assert_eq!((sum(&lines, |line| line.count), sum(&lines, |line| line.slow) >= 300), (400, true));
    // A pause of the machine may make others slow before.
    let answered = lines.iter().rposition(|(_, line)| line.slow < line.count).unwrap();
    let (stalled_at, first) = &lines[answered + 1];
    // Due at 0.5 s, slow 40 ms later, in the line of at most 0.1 s after that.
    assert!(*stalled_at - begun < Duration::from_secs(2), "{first:?} after {:?}", *stalled_at - begun);
    let stalled: Vec<&Counts> = lines.iter().map(|(_, line)| line).filter(|line| line.end > first.end).collect();
    let (mut slow, mut offered, mut seconds) = (0.0, 0.0, 0.0);
    for line in &stalled[..10] {
        assert_eq!(line.count, line.slow);
        slow += line.slow as f64;
        offered += line.offered.unwrap() * line.seconds;
        seconds += line.seconds;
    }
    assert!((slow / seconds - 200.0).abs() < 50.0 && (offered / seconds - 200.0).abs() < 25.0, "{:?}", &stalled[..10]);
    assert!(stalled[10].latency_ms > 500.0, "{:?}", stalled[10]);
}

#[test]
fn lines_come_at_their_times_on_the_clock_of_the_machine() {
    let _turn = alone();
    let (_, lines) =
        counted(Options { rate: Some(20.0), warmup: 300 * MS, threads: vec![None; 2], ..options(target(echo)) });
    assert!((12..=15).contains(&lines.len()), "{lines:?}");
    for pair in lines.windows(2) {
        let (before, after) = (pair[0].1, pair[1].1);
        let apart = after.end.unwrap() - before.end.unwrap();
        assert!((apart - after.seconds).abs() < 1e-6, "{pair:?}");
    }
}
