//! Sessions: times, rates and CPU of slices, on targets with known service times.

use crate::shared::{servers::*, sessions::*, *};
use brunt_load::session::Session;
use brunt_load::{Arrival, Options};
use brunt_testkit::{alone, until};
use std::cell::Cell;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

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
    let _turn = alone();
    let address = echo_server();
    let mut session = open(&Options { connections: 1000, threads: vec![None, None], ..options(address) });
    assert_eq!(session.threads().len(), 2);
    for seed in 0..2 {
        let report = slice(&mut session, order(10, 50, seed));
        assert_eq!((report.failed, report.connections.opened), (0, 1000), "{:?}", report.errors);
        // What follows the report, timers too if there are any, has ended once no thread has run for a while.
        let used = || session.threads().iter().copied().map(cpu_ns).sum::<u64>();
        let mut before = 0;
        until("the threads rest", || {
            let last = std::mem::replace(&mut before, used());
            thread::sleep(50 * MS);
            last == before
        });
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
