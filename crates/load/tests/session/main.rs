//! Sessions: slices of load on connections that stay open, on targets with known behaviour.

#[path = "../common/mod.rs"]
mod common;
mod servers;

use brunt_load::session::Session;
use brunt_load::{Arrival, LoadError, Options};
use brunt_results::slice::{Measured, SliceSpec};
use common::*;
use servers::*;
use std::cell::Cell;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

fn order(lead: u64, window: u64, seed: u64) -> SliceSpec {
    SliceSpec { lead: Duration::from_millis(lead), window: Duration::from_millis(window), seed }
}

fn open(options: &Options) -> Session {
    Session::open(options, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error}"))
}

/// Makes a slice and checks what holds in every report.
fn slice(session: &mut Session, order: SliceSpec) -> Measured {
    let report = session.slice(order).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.window, order.window);
    assert!(report.busy >= order.lead + order.window, "{report:?}");
    assert!(report.completed <= report.replies);
    assert_eq!(report.service.is_some(), report.offered.is_some());
    assert_eq!(report.lag.is_some(), report.offered.is_some());
    report
}

fn first_core() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    list.split([',', '-']).next().unwrap().parse().unwrap()
}

/// A median time in microseconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    quantile(&times, 0.5)
}

#[test]
fn two_sessions_on_one_core_take_turns() {
    let _turn = alone();
    for protocol in PROTOCOLS {
        let services = [2 * MS, 5 * MS];
        let targets = services.map(|service| slow(protocol, service));
        let mut sessions: Vec<Session> = targets
            .iter()
            .map(|(address, _)| open(&Options { threads: vec![Some(first_core())], ..options(address.clone()) }))
            .collect();
        let mut totals = [const { (0, Vec::new(), Vec::new(), Vec::new()) }; 2];
        for round in 0..50 {
            for turn in [0, 1] {
                let target = (round + turn) % 2;
                let before = targets.each_ref().map(|(_, seen)| seen.requests.load(Relaxed));
                let report = slice(&mut sessions[target], order(6, 24, 1));
                let after = targets.each_ref().map(|(_, seen)| seen.requests.load(Relaxed));
                // The other one had no load, and this one has answered everything.
                assert_eq!(after[1 - target], before[1 - target]);
                assert_eq!(report.replies + report.failed, after[target] - before[target]);
                assert_eq!((report.failed, report.errors.total()), (0, 0), "{:?}", report.errors);
                let least = services[target].as_nanos() as f64;
                let min =
                    report.response.iter_recorded().next().map_or(least, |first| first.value_iterated_to() as f64);
                assert!(min * 1.002 >= least, "{min} of {least}");
                let (replies, p50, cpu, control) = &mut totals[target];
                *replies += report.replies;
                p50.push(report.response.value_at_quantile(0.5) as f64 / 1e3);
                cpu.push(report.cpu.as_secs_f64() * 1e6);
                // What this machine adds to a time at this moment.
                control.push(overslept(services[target]));
            }
        }
        for ((service, (_, seen)), (replies, p50, cpu, control)) in services.iter().zip(&targets).zip(totals) {
            assert_eq!(seen.requests.load(Relaxed), replies);
            assert_eq!(seen.connections.load(Relaxed), 2, "connections persist");
            let (p50, control) = (median(p50), median(control));
            let service = service.as_secs_f64() * 1e6;
            assert!((service..service + 3.0 * control + 1000.0).contains(&p50), "{p50} us for {service}, {control}");
            assert!(cpu.iter().all(|cpu| *cpu > 0.0));
        }
    }
}

/// By how many microseconds a sleep is longer than asked at this moment.
fn overslept(time: Duration) -> f64 {
    let begun = Instant::now();
    thread::sleep(time);
    (begun.elapsed() - time).as_secs_f64() * 1e6
}

/// CPU time of a sleeping thread, in nanoseconds.
fn cpu_ns(thread: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn an_idle_session_uses_no_cpu() {
    let address = echo_server();
    let mut session = open(&Options { connections: 1000, threads: vec![None, None], ..options(address) });
    assert_eq!(session.threads().len(), 2);
    for seed in 0..2 {
        let report = slice(&mut session, order(10, 50, seed));
        assert_eq!((report.failed, report.connections.opened), (0, 1000), "{:?}", report.errors);
        // What follows the report, timers too if there are any, has ended once no thread has run for a while.
        let used = || session.threads().iter().copied().map(cpu_ns).sum::<u64>();
        let (begun, mut before) = (Instant::now(), 0);
        while before != used() {
            assert!(begun.elapsed() < PATIENCE, "the threads do not rest");
            before = used();
            thread::sleep(50 * MS);
        }
        thread::sleep(Duration::from_secs(1));
        let used = used() - before;
        assert!(used < 2_000_000, "{used} ns");
    }
}

#[test]
fn a_slice_starts_and_returns_at_once() {
    let _turn = alone();
    let mut session = open(&Options { connections: 8, ..options(echo_server()) });
    let completed = Cell::new(0);
    let gap = |number| {
        let order = order(2, 10, number);
        let begun = Instant::now();
        let report = slice(&mut session, order);
        completed.set(completed.get() + report.completed);
        // Before the lead and behind the last reply.
        begun.elapsed() - report.busy
    };
    let gaps: Vec<Duration> = (0..50).map(gap).collect();
    let us = median(gaps.iter().map(|gap| gap.as_secs_f64() * 1e6).collect());
    println!("median gap {us} us");
    assert!(completed.get() > 0);
    // Any of them, as the machine may pause.
    assert!(gaps.iter().min().unwrap() < &MS, "{gaps:?}");
}

#[test]
fn an_open_loop_answers_what_was_offered_and_equal_seeds_make_equal_arrivals() {
    let _turn = alone();
    for protocol in PROTOCOLS {
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let seen = Arc::<AtomicU64>::default();
            let counts = Arc::clone(&seen);
            let address = target_on(protocol, move |mut stream| {
                let mut message = [0; SIZE];
                while stream.read_exact(&mut message).is_ok() {
                    counts.fetch_add(1, Relaxed);
                    let _ = stream.write_all(&message);
                }
            });
            let options =
                Options { rate: Some(2000.0), arrival, connections: 6, threads: vec![None, None], ..options(address) };
            let mut sessions = [open(&options), open(&options)];
            let (mut replies, mut offers) = (0, Vec::new());
            for seed in 0..20 {
                let [one, other] = sessions.each_mut().map(|session| slice(session, order(10, 50, seed)));
                assert_eq!(one.offered, other.offered);
                for report in [one, other] {
                    let offered = report.offered.unwrap();
                    // Each request of the window has a response time: none has failed.
                    assert_eq!((report.failed, report.response.len()), (0, offered), "{:?}", report.errors);
                    assert!(report.completed + report.unanswered >= offered);
                    replies += report.replies;
                    offers.push(offered);
                }
            }
            assert_eq!(seen.load(Relaxed), replies);
            let constant = offers.iter().all(|offered| *offered == 100);
            assert_eq!(constant, arrival == Arrival::Constant, "{offers:?}");
            let mean = offers.iter().sum::<u64>() as f64 / 40.0;
            assert!((mean - 100.0).abs() < 10.0, "{mean}");
        }
    }
}

#[test]
fn requests_that_could_not_be_sent_are_unanswered_and_never_sent() {
    let _turn = alone();
    let (address, seen) = slow(Protocol::Tcp, 10 * MS);
    // Two connections, at most 200 a second, of 2000.
    let mut session = open(&Options { rate: Some(2000.0), ..options(address) });
    for number in 1..=5 {
        let before = seen.requests.load(Relaxed);
        let report = slice(&mut session, order(0, 100, number));
        assert_eq!(report.offered, Some(200));
        assert_eq!(report.completed + report.unanswered, 200);
        assert_eq!(report.response.len(), 200);
        // Two of the window are in flight at its end and answered behind it.
        assert_eq!((report.failed, report.abandoned + report.replies), (0, 200));
        assert_eq!(report.replies, seen.requests.load(Relaxed) - before);
        assert!((1..=22).contains(&report.replies), "{report:?}");
    }
}

#[test]
fn connections_that_the_target_closes_between_slices_are_opened_again() {
    let seen = Arc::<Seen>::default();
    let counts = Arc::clone(&seen);
    let address = target(move |mut stream| {
        counts.connections.fetch_add(1, Relaxed);
        stream.set_read_timeout(Some(200 * MS)).unwrap();
        let mut message = [0; SIZE];
        while stream.read_exact(&mut message).is_ok() {
            counts.requests.fetch_add(1, Relaxed);
            if stream.write_all(&message).is_err() {
                return;
            }
        }
    });
    for rate in [None, Some(400.0)] {
        let mut session = open(&Options { rate, connections: 4, ..options(address) });
        let before = seen.requests.load(Relaxed);
        let mut replies = 0;
        for seed in 1..=4 {
            let report = slice(&mut session, order(5, 40, seed));
            replies += report.replies;
            // On a busy machine, a connection may idle for too long within a slice.
            assert!(report.errors.total() <= 2, "{:?}", report.errors);
            thread::sleep(500 * MS);
        }
        let requests = seen.requests.load(Relaxed) - before;
        assert!((replies..=replies + 4).contains(&requests), "{replies} of {requests}");
        let opened = slice(&mut session, order(0, 10, 1)).connections.opened;
        assert!((16..=32).contains(&opened), "about four for each of five slices, not {opened}");
    }
}

#[test]
fn a_target_that_dies_within_a_slice_has_reports_in_bounded_time() {
    let left = Arc::new(AtomicU64::new(u64::MAX));
    let address = mortal(&left);
    let mut session = open(&Options { connections: 4, threads: vec![None, None], ..options(address) });
    assert_eq!(slice(&mut session, order(0, 20, 1)).errors.total(), 0);
    left.store(100, Relaxed);
    let begun = Instant::now();
    let mut replies = 0;
    // One slice, unless the machine pauses.
    loop {
        let report = slice(&mut session, order(0, 200, 2));
        replies += report.replies;
        if report.failed > 0 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{report:?}");
    }
    assert!(replies > 50, "{replies}");
    while std::net::TcpStream::connect(address).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the listener is not closed");
        thread::sleep(MS);
    }
    for seed in 3..6 {
        let report = slice(&mut session, order(0, 50, seed));
        assert_eq!(report.replies, 0);
        assert!(report.errors.connect > 0, "{:?}", report.errors);
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}

#[test]
fn requests_without_a_reply_time_out_in_every_slice() {
    for protocol in PROTOCOLS {
        for rate in [None, Some(200.0)] {
            let address = target_on(protocol, |_stream| thread::sleep(Duration::from_secs(3600)));
            let mut session = open(&Options { rate, timeout: 100 * MS, ..options(address) });
            for seed in 0..3 {
                let begun = Instant::now();
                let report = slice(&mut session, order(0, 50, seed));
                assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
                assert_eq!((report.replies, report.completed), (0, 0));
                // One that a pause of the machine moves behind the end of a window of 50 ms is not sent.
                let least = if rate.is_some() { 1 } else { 2 };
                assert!((least..=2).contains(&report.failed), "{:?}", report.errors);
                assert_eq!(report.errors.timeout, report.failed, "{:?}", report.errors);
                assert_eq!(report.unanswered, report.offered.unwrap_or(2), "{seed} {protocol:?} {report:?}");
                assert!(report.busy >= 100 * MS, "{:?}", report.busy);
            }
        }
    }
}

#[test]
fn a_session_that_cannot_be_opened_says_why() {
    let address = listener().local_addr().unwrap();
    let open = |options: &Options, stop| Session::open(options, &AtomicBool::new(stop)).err().unwrap();
    assert!(matches!(open(&options(address), false), LoadError::Refused(_)));
    let none = Options { connections: 0, ..options(address) };
    assert!(matches!(open(&none, false), LoadError::Options(_)));
    // Opens one connection in a minute.
    let slow = Options { connect_rate: Some(1.0 / 60.0), timeout: PATIENCE, ..options(echo_server()) };
    assert!(matches!(open(&slow, true), LoadError::Interrupted));
}

#[test]
fn each_slice_may_have_a_rate_of_its_own() {
    let _turn = alone();
    let mut session =
        open(&Options { rate: Some(1.0), threads: vec![None, None], connections: 6, ..options(echo_server()) });
    for rate in [2000, 500, 40, 2000, 1000] {
        session.set_rate(rate as f64).unwrap();
        let report = slice(&mut session, order(10, 50, 1));
        assert_eq!((report.offered, report.response.len()), (Some(rate / 20), rate / 20));
    }
    for rate in [0.0, -1.0, f64::NAN, 1e8] {
        let error = session.set_rate(rate).unwrap_err().to_string();
        assert!(error.contains("per second cannot be kept"), "{error}");
    }
}

#[test]
fn a_slice_without_a_window_and_a_closed_loop_with_a_rate_are_errors() {
    let mut session = open(&options(echo_server()));
    assert!(session.set_rate(9.0).unwrap_err().to_string().contains("a closed loop has no rate"));
    let error = session.slice(order(10, 0, 1)).unwrap_err().to_string();
    assert!(error.contains("window of more than 0s") && !error.contains('\n'), "{error}");
    assert!(slice(&mut session, order(0, 100, 1)).replies > 0);
}
