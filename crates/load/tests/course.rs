//! Phases, limits, observers and sizes of runs.

mod common;

use brunt_load::{Arrival, Observer, Options};
use brunt_results::series::Second;
use common::*;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::mpsc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

#[test]
fn a_request_limit_is_exact() {
    for threads in [1, 2] {
        let options = Options {
            requests: Some(5000),
            connections: 8,
            threads: vec![None; threads],
            duration: Duration::from_secs(120),
            warmup: Duration::from_millis(50),
            ..options(target(echo))
        };
        let result = run(&options).result;
        assert_eq!(result.requests.completed, 5000);
        assert!(result.requests.unanswered <= 8);
        assert!(!result.interrupted);
        assert!(result.load.measured_s < 100.0, "{}", result.load.measured_s);
        assert_eq!(result.latency.service.count, 5000 - first_of_warmup(&result));
    }
}

/// Completions of requests sent in the warm-up have no latency; there are at most as many as connections.
fn first_of_warmup(result: &brunt_results::RunResult) -> u64 {
    let without = result.requests.completed - result.latency.service.count;
    assert!(without <= result.load.connections);
    without
}

/// An observer that notes its calls, their times and threads.
struct Notes {
    calls: Vec<(&'static str, Instant, ThreadId)>,
    seconds: Vec<Second>,
    stop_after: Option<Duration>,
    /// Counted from here, or from the opening of the window.
    since: Option<Instant>,
}

impl Notes {
    fn new(stop_after: Option<Duration>) -> Self {
        Self { calls: Vec::new(), seconds: Vec::new(), stop_after, since: None }
    }

    fn note(&mut self, call: &'static str) {
        self.calls.push((call, Instant::now(), thread::current().id()));
    }

    fn phases(&self) -> Vec<&'static str> {
        self.calls.iter().map(|call| call.0).collect()
    }
}

impl Observer for Notes {
    fn started(&mut self, threads: &[u32]) {
        assert_eq!(threads.len(), 2);
        for tid in threads {
            let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap();
            assert!(name.starts_with("load-"), "{name}");
        }
        self.note("started");
    }
    fn window_opened(&mut self) {
        self.note("opened");
        self.since = Some(Instant::now());
    }
    fn second(&mut self, second: &mut Second) {
        second.server_rss_bytes = Some(4096);
        self.seconds.push(second.clone());
    }
    fn window_closed(&mut self) {
        self.note("closed");
    }
    fn wants_stop(&self) -> bool {
        self.stop_after.zip(self.since).is_some_and(|(after, since)| since.elapsed() > after)
    }
}

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
fn a_stop_in_a_warm_up_that_would_end_by_rule_ends_the_run_without_a_window() {
    let warmup = Duration::from_secs(60);
    let options = Options { steady: true, warmup, threads: vec![None, None], ..options(target(echo)) };
    let mut notes = Notes::new(Some(Duration::from_millis(400)));
    notes.since = Some(Instant::now());
    let report = brunt_load::run(&options, &mut notes).unwrap();
    let load = &report.result.load;
    assert!(report.result.interrupted);
    assert_eq!((load.measured_s, report.result.requests.completed), (0.0, 0));
    assert!((0.1..PATIENCE.as_secs_f64()).contains(&load.warmup_s), "{}", load.warmup_s);
}

#[test]
fn a_stop_ends_the_run_early_and_keeps_what_was_measured() {
    let options = Options { duration: Duration::from_secs(60), threads: vec![None, None], ..options(target(echo)) };
    let mut notes = Notes::new(Some(Duration::from_millis(400)));
    let start = Instant::now();
    let report = brunt_load::run(&options, &mut notes).unwrap();
    let took = start.elapsed();
    assert!(took < PATIENCE, "{took:?}");
    let result = &report.result;
    assert!(result.interrupted);
    assert!(result.requests.completed > 0);
    assert!((0.3..took.as_secs_f64()).contains(&result.load.measured_s), "{}", result.load.measured_s);
    assert_eq!(notes.calls.last().unwrap().0, "closed");
    assert_eq!(report.seconds.iter().map(|s| s.completed).sum::<u64>(), result.requests.completed);
}

#[test]
fn a_stop_before_the_window_is_a_result_without_requests() {
    let options = Options { warmup: Duration::from_secs(60), threads: vec![None, None], ..options(target(echo)) };
    let mut notes = Notes::new(Some(Duration::from_millis(200)));
    let start = Instant::now();
    notes.since = Some(start);
    let result = brunt_load::run(&options, &mut notes).unwrap().result;
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    assert!(result.interrupted);
    assert_eq!((result.requests.completed, result.load.measured_s), (0, 0.0));
    assert_eq!(result.requests.rate, 0.0);
    assert_eq!(result.latency.response.count, 0);
}

#[test]
fn messages_of_every_size_are_sent_and_checked_completely() {
    // The largest exceeds all socket buffers: writing all of it before reading would block for ever.
    for size in [1, 3, 8, 9, 4095, 65_537, 16 << 20] {
        let options = Options {
            target: brunt_load::Target::Echo { address: target(echo).into(), size, reuse: None },
            requests: Some(20),
            duration: Duration::from_secs(120),
            timeout: Duration::from_secs(60),
            ..options("127.0.0.1:1".parse::<std::net::SocketAddr>().unwrap())
        };
        let result = run(&options).result;
        assert_eq!((result.requests.completed, result.errors.total()), (20, 0), "{size} bytes");
        assert!(result.bytes.received >= 20 * size as u64);
        assert!(result.bytes.sent >= result.bytes.received);
    }
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
    assert!(opening > Duration::from_millis(280) && opening < PATIENCE, "{opening:?}");
    assert_eq!((report.result.connections.opened, report.result.connections.peak), (30, 30));
}

#[test]
fn connections_and_replacements_take_sources_in_turn() {
    let (seen, coming) = mpsc::channel();
    let once = move |mut stream: TcpStream| {
        seen.send(stream.peer_addr().unwrap().ip()).unwrap();
        let mut message = [0; SIZE];
        if stream.read_exact(&mut message).is_ok() {
            let _ = stream.write_all(&message);
        }
    };
    let options = Options {
        connections: 10,
        threads: vec![None; 2],
        sources: Some("127.0.0.2-127.0.0.3,127.9.9.9".parse().unwrap()),
        // Each connection has one reply and loses the next request.
        requests: Some(120),
        duration: Duration::from_secs(60),
        ..options(target(once))
    };
    let opened = run(&options).result.connections.opened;
    assert!(opened >= 50, "{opened}");
    // The last ones may be accepted after the load.
    let ips: Vec<IpAddr> = (0..opened).map(|_| coming.recv_timeout(PATIENCE).unwrap()).collect();
    // Two threads take turns at three addresses: of the first ten each has three or four.
    let from = |ip: &str| ips.iter().filter(|seen| **seen == ip.parse::<IpAddr>().unwrap()).count();
    let each = ["127.0.0.2", "127.0.0.3", "127.9.9.9"].map(from);
    assert_eq!(each.iter().sum::<usize>(), ips.len());
    assert!(each.iter().all(|count| *count >= 3), "{each:?}");
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
fn poisson_runs_with_equal_seeds_offer_equal_loads() {
    let offered = |seed| {
        let options = Options {
            rate: Some(3000.0),
            arrival: Arrival::Poisson,
            duration: Duration::from_millis(200),
            seed,
            ..options(target(echo))
        };
        let result = run(&options).result;
        result.requests.completed + result.requests.unanswered + result.requests.failed
    };
    assert_eq!(offered(1), offered(1));
    assert_ne!(offered(1), offered(2));
}
