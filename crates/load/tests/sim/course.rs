//! Phases, limits, stops and observers of runs.

use crate::targets::{Seen, echo_after, seen};
use crate::worlds::{MS, Run, SIZE, US, address, beside, exact, options, run, turns, values};
use brunt_load::{Arrival, Observer, Options, Report, Target, run_in_world};
use brunt_results::series::Second;
use brunt_runtime::sim::World;
use std::{rc::Rc, time::Duration};

/// How often an observer is asked whether to stop.
const POLL: Duration = Duration::from_millis(100);
/// From the decision to end until the end.
const NOTICE: Duration = Duration::from_millis(5);

/// An observer that notes its calls and their times.
struct Notes {
    world: World,
    calls: Vec<(&'static str, Duration)>,
    /// Asks for a stop so long after the last call.
    stop_after: Option<(&'static str, Duration)>,
}

impl Notes {
    fn note(&mut self, call: &'static str) {
        self.calls.push((call, self.world.elapsed()));
    }

    fn phases(&self) -> Vec<&'static str> {
        self.calls.iter().map(|call| call.0).collect()
    }
}

impl Observer for Notes {
    fn started(&mut self, threads: &[u32]) {
        assert_eq!(threads, [1, 2]);
        self.note("started");
    }
    fn window_opened(&mut self) {
        self.note("opened");
    }
    fn second(&mut self, second: &mut Second) {
        second.server_rss_bytes = Some(4096);
    }
    fn window_closed(&mut self) {
        self.note("closed");
    }
    fn wants_stop(&self) -> bool {
        let after = |(call, after)| {
            self.calls.last().is_some_and(|last| last.0 == call && self.world.elapsed() >= last.1 + after)
        };
        self.stop_after.is_some_and(after)
    }
}

/// Runs a load of two threads against an echo; asks for a stop so long after a call.
fn noted(options: Options, stop_after: Option<(&'static str, Duration)>) -> (Report, Notes) {
    let options = Options { threads: vec![None, None], connections: 2, ..options };
    let world = exact(1);
    let mut notes = Notes { world: world.clone(), calls: Vec::new(), stop_after };
    let report = beside(&world, echo_after(75 * US), run_in_world(&options, &mut notes))
        .unwrap_or_else(|error| panic!("{error}"));
    (report, notes)
}

#[test]
fn the_observer_is_called_in_each_phase() {
    let load = Options { warmup: 300 * MS, duration: 1200 * MS, rate: Some(500.0), ..options() };
    let (report, notes) = noted(load, None);
    assert_eq!(notes.phases(), ["started", "opened", "closed"]);
    let [started, opened, closed] = [0, 1, 2].map(|call| notes.calls[call].1);
    // The start is set five milliseconds ahead; the coordinator may wake up a few turns later.
    assert!((305 * MS..305 * MS + 20 * US).contains(&(opened - started)), "{:?}", opened - started);
    assert!((closed - opened).abs_diff(1200 * MS) < 20 * US, "{:?}", closed - opened);
    // 0.3 s of warm-up, a second, and the rest of the window.
    let seconds: Vec<(f64, bool)> = report.seconds.iter().map(|s| (s.at_s, s.warmup)).collect();
    assert_eq!(seconds, [(0.3, true), (1.3, false), (1.5, false)]);
    assert!(report.seconds.iter().all(|s| s.server_rss_bytes == Some(4096)), "what the observer fills in is kept");
    let counts = |count: fn(&Second) -> u64| report.seconds.iter().map(count).collect::<Vec<_>>();
    assert_eq!(counts(|s| s.offered.unwrap()), [150, 500, 100]);
    assert_eq!((counts(|s| s.sent), counts(|s| s.completed)), (vec![150, 500, 100], vec![150, 500, 100]));
    assert!(report.seconds.iter().all(|s| s.connections == 2));
    assert_eq!((report.result.requests.completed, report.result.latency.response.count), (600, 600));
}

#[test]
fn a_warm_up_ends_once_the_load_is_steady_and_the_window_has_its_length() {
    let load = Options { steady: true, warmup: Duration::from_secs(30), rate: Some(500.0), ..options() };
    let (report, notes) = noted(load, None);
    assert_eq!(notes.phases(), ["started", "opened", "closed"]);
    // A load without any drift: as many seconds as the rule needs.
    let times: Vec<(f64, bool)> = report.seconds.iter().map(|second| (second.at_s, second.warmup)).collect();
    let warm = times.len() - 1;
    assert_eq!(times, (1..=warm + 1).map(|second| (second as f64, second <= warm)).collect::<Vec<_>>());
    assert_eq!(warm, 9);
    let load = &report.result.load;
    assert_eq!((load.warmup_s, load.measured_s), (warm as f64, 1.0));
    assert_eq!(report.result.latency.response.count, 500);
}

#[test]
fn a_stop_ends_the_run_early_and_keeps_what_was_measured() {
    let load = Options { duration: Duration::from_secs(600), ..options() };
    let (report, notes) = noted(load, Some(("opened", 400 * MS)));
    let result = &report.result;
    assert!(result.interrupted);
    let measured = Duration::from_secs_f64(result.load.measured_s);
    assert!((400 * MS + NOTICE..400 * MS + NOTICE + POLL + MS).contains(&measured), "{measured:?}");
    // The whole window was measured: 98 us each, in two loops.
    assert_eq!(result.requests.completed, 2 * (measured.as_nanos() / 98_000) as u64);
    assert_eq!(notes.phases(), ["started", "opened", "closed"]);
    assert_eq!(report.seconds.iter().map(|s| s.completed).sum::<u64>(), result.requests.completed);
}

#[test]
fn a_stop_before_the_window_is_a_result_without_requests() {
    for steady in [false, true] {
        let load = Options { warmup: Duration::from_secs(600), steady, ..options() };
        let (report, notes) = noted(load, Some(("started", 400 * MS)));
        let result = report.result;
        assert!(result.interrupted);
        assert_eq!((result.requests.completed, result.load.measured_s, result.requests.rate), (0, 0.0, 0.0));
        assert_eq!(result.latency.response.count, 0);
        assert_eq!(notes.phases(), ["started"]);
        let warm = Duration::from_secs_f64(result.load.warmup_s);
        assert!((400 * MS..400 * MS + NOTICE + POLL).contains(&warm), "{warm:?}");
        assert!(notes.world.elapsed() < 400 * MS + 2 * NOTICE + POLL + MS, "{:?}", notes.world.elapsed());
    }
}

#[test]
fn connections_are_opened_at_the_connect_rate_and_all_are_used() {
    for threads in [1, 2] {
        let load = Options {
            connections: 30,
            connect_rate: Some(100.0),
            rate: Some(1000.0),
            threads: vec![None; threads],
            ..options()
        };
        let world = exact(1);
        let Run { report, .. } = run(&world, &load, echo_after(Duration::ZERO));
        let connections = &report.result.connections;
        assert_eq!((connections.opened, connections.peak), (30, 30));
        // The thirtieth is due after 290 ms, and takes some microseconds.
        let rate = connections.connect_rate_per_s.unwrap();
        assert!((30.0 / 0.29010..30.0 / 0.29).contains(&rate), "{rate}");
        assert_eq!(report.result.requests.completed, 1000);
    }
}

#[test]
fn a_connection_that_has_carried_its_requests_is_replaced_without_an_error() {
    for rate in [None, Some(2000.0)] {
        let most = Rc::<Seen>::default();
        let target = Target::Echo { address: address().into(), size: SIZE, reuse: Some(5) };
        let direct = rate.map(|_| turns()).unwrap_or_default();
        let load = Options { rate, target, connections: 2, direct, ..options() };
        let result = run(&exact(1), &load, seen(most.clone(), SIZE as u64, Duration::ZERO, 6)).report.result;
        let (requests, opened) = (&result.requests, result.connections.opened);
        assert_eq!((requests.failed, result.errors.total(), result.connections.peak), (0, 0, 2));
        // The first one of the second connection carries four, so that not both are replaced at the same time; and a closed loop has
        // a request of each in flight at the end.
        let each = requests.completed / 2;
        let replaced = match rate {
            None => (each + 1).div_ceil(5) + (each + 2).div_ceil(5),
            Some(_) => 2 + each / 5 + (each + 1) / 5,
        };
        assert_eq!((opened, requests.completed % 2), (replaced, 0), "{requests:?}");
        assert!(each > 500);
    }
}

#[test]
fn poisson_runs_with_equal_seeds_offer_equal_loads() {
    let offered = |seed| {
        let load = Options { rate: Some(3000.0), arrival: Arrival::Poisson, connections: 2, seed, ..options() };
        let Run { report, responses } = run(&exact(1), &load, echo_after(Duration::ZERO));
        let requests = report.result.requests;
        (requests.completed + requests.unanswered + requests.failed, values(&responses))
    };
    let (first, second) = (offered(1), offered(2));
    assert_eq!(first, offered(1));
    assert!(first.0.abs_diff(3000) < 200 && first != second, "{} {}", first.0, second.0);
}
