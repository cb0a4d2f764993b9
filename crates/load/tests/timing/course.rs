//! Phases of runs, and rates of requests and connections.

use crate::shared::{notes::Notes, *};
use brunt_load::{Options, Target};
use brunt_results::series::Second;
use brunt_testkit::alone;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn the_observer_is_called_in_each_phase_on_the_callers_thread() {
    let _turn = alone();
    let options = Options {
        warmup: Duration::from_millis(300),
        duration: Duration::from_millis(1200),
        rate: Some(500.0),
        threads: vec![None, None],
        ..options(target(echo))
    };
    let mut notes = Notes::new(None);
    let report = brunt_load::run(&options, &mut notes).unwrap();
    assert_eq!(notes.phases(), ["started", "opened", "closed"]);
    assert!(notes.calls.iter().all(|call| call.2 == thread::current().id()));
    // Both may be late on a busy machine.
    let window = notes.calls[2].1 - notes.calls[1].1;
    assert!(window.abs_diff(options.duration) < Duration::from_secs(1), "{window:?}");
    // 0.3 s of warm-up, a second, and the rest of the window.
    let seconds: Vec<(f64, bool)> = report.seconds.iter().map(|s| (s.at_s, s.warmup)).collect();
    assert_eq!(seconds, [(0.3, true), (1.3, false), (1.5, false)]);
    assert!(report.seconds.iter().all(|s| s.server_rss_bytes == Some(4096)), "what the observer fills in is kept");
    let offered: Vec<Option<u64>> = report.seconds.iter().map(|s| s.offered).collect();
    assert_eq!(offered, [Some(150), Some(500), Some(100)]);
    assert!(report.seconds.iter().all(|s| s.connections == 2 && s.generator_cpu_percent.unwrap() > 0.0));
    // Requests of the warm-up may end in the window: a few, or a backlog on a busy machine.
    let requests = &report.result.requests;
    assert!((600..=750).contains(&(requests.completed + requests.unanswered)), "{requests:?}");
    assert_eq!(report.result.latency.response.count, 600);
    let sent = report.result.bytes.sent / SIZE as u64;
    assert!(sent + 150 >= requests.completed, "{sent} sent, {requests:?}");
}

#[test]
fn a_warm_up_ends_once_the_load_is_steady_and_the_window_has_its_length() {
    let _turn = alone();
    let options = Options {
        steady: true,
        warmup: Duration::from_secs(30),
        rate: Some(500.0),
        threads: vec![None, None],
        ..options(target(echo))
    };
    let mut notes = Notes::new(None);
    let report = brunt_load::run(&options, &mut notes).unwrap();
    assert_eq!(notes.phases(), ["started", "opened", "closed"]);
    let (warm, window): (Vec<&Second>, Vec<&Second>) = report.seconds.iter().partition(|second| second.warmup);
    let times = |seconds: &[&Second]| -> Vec<f64> { seconds.iter().map(|second| second.at_s).collect() };
    assert!((8..30).contains(&warm.len()), "{}", warm.len());
    assert_eq!(times(&warm), (1..=warm.len()).map(|second| second as f64).collect::<Vec<_>>());
    assert_eq!(times(&window), [(warm.len() + 1) as f64]);
    let load = &report.result.load;
    assert_eq!((load.warmup_s, load.measured_s), (warm.len() as f64, 1.0));
    assert_eq!(report.result.latency.response.count, 500);
}

#[test]
fn connections_are_opened_at_the_connect_rate_and_all_are_used() {
    let _turn = alone();
    let options = Options {
        connections: 30,
        connect_rate: Some(100.0),
        duration: Duration::from_millis(200),
        rate: Some(1000.0),
        ..options(target(echo))
    };
    let start = Instant::now();
    let report = run(&options);
    let opening = start.elapsed() - options.duration;
    assert!(opening > Duration::from_millis(280) && opening < LIMIT, "{opening:?}");
    assert_eq!((report.result.connections.opened, report.result.connections.peak), (30, 30));
}

#[test]
fn a_constant_rate_is_sent_on_time() {
    // Only the median, in the best of some runs: a busy machine may preempt at any time.
    // Rounding to a tick of a millisecond would be half of one here.
    let _turn = alone();
    let mut lags = Vec::new();
    while !lags.last().is_some_and(|lag| *lag < 200.0) {
        assert!(lags.len() < 8, "median lags in us: {lags:?}");
        let options = Options {
            rate: Some(2000.0),
            connections: 16,
            duration: Duration::from_millis(250),
            ..options(target(echo))
        };
        let result = run(&options).result;
        // All but requests due at the very end of the window.
        let unsent = result.latency.response.count.saturating_sub(result.latency.lag.count);
        assert!(unsent <= result.requests.unanswered, "{unsent}, {:?}", result.requests);
        assert!(result.generator.spin_percent.unwrap() <= result.generator.cpu_percent.unwrap() + 1.0);
        lags.push(result.latency.lag.p50_us.unwrap());
    }
}

#[test]
fn a_connection_that_has_carried_its_requests_is_replaced_without_an_error() {
    let _turn = alone();
    for rate in [None, Some(2000.0)] {
        let most = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&most);
        let address = target(move |mut stream| {
            let (mut messages, mut message) = (0, [0; SIZE]);
            while stream.read_exact(&mut message).and_then(|()| stream.write_all(&message)).is_ok() {
                messages += 1;
                seen.fetch_max(messages, Relaxed);
            }
        });
        let once = Options { rate, ..options(address) };
        let target = Target::Echo { address: address.into(), size: SIZE, reuse: Some(5) };
        let result = run(&Options { target, ..once }).result;
        let (completed, opened) = (result.requests.completed, result.connections.opened);
        assert_eq!((result.requests.failed, most.load(Relaxed)), (0, 5), "{:?}", result.errors);
        assert!(completed > 500 && (completed / 5..=completed / 5 + 4).contains(&opened), "{completed} on {opened}");
        assert_eq!(result.connections.peak, 2);
    }
}
