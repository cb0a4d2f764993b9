//! What holds in every world: loads and servers by seed, on a host that varies, with faults.

use crate::seeds::{Case, REQUESTS, lengths, settings};
use crate::sleeper::Sleeper;
use crate::wire::Wire;
use crate::worlds::{Run, SECOND, run};
use brunt_results::LatencySummary;
use brunt_results::series::Second;
use brunt_runtime::sim::{Settings, World};
use brunt_spec::Spread;
use brunt_testkit::each_seed;
use std::{fmt, hint};

/// Turns of all workers of a world, at most: many times as many as there are requests, so a wake-up that never comes is found.
const TURNS: u64 = 500_000;
/// Jain's index of the replies of connections, at least: of nine, one that ended in the middle of a load makes 0.97 of it.
const EVEN: f64 = 0.98;
/// Seeds of a test run.
const SEEDS: u64 = 1000;
/// Just below the largest block that glibc takes as a measure.
const HEAP: usize = 31 << 20;

/// Runs a load and checks it; returns a digest of all that happened.
fn check(seed: u64) -> u64 {
    let world = World::with_settings(seed, Settings { most_turns: TURNS, ..settings(seed) });
    let (case, serve) = Case::draw(seed, &world);
    if case.lengths.is_some() {
        world.record_trace();
    }
    let sleeper = (seed % 4 < 2).then(|| Sleeper::spawn(&world));
    match run(&world, &case.options, serve) {
        Ok(run) => Outcome::new(&world, &case, &run).holds(),
        // The first connections may fail.
        Err(error) => assert!(case.has_faults, "{error}"),
    }
    if let Some(sleeper) = sleeper.filter(|_| !case.is_disturbed) {
        sleeper.holds();
    }
    world.trace_digest()
}

/// A case and what came of it.
struct Outcome<'r> {
    case: &'r Case,
    run: &'r Run,
    wire: Option<Wire>,
    /// Over all seconds.
    sent: u64,
    completed: u64,
    failed: u64,
}

impl fmt::Debug for Outcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, run: Run { report, server, .. }, wire, sent, completed, failed } = self;
        let result = &report.result;
        writeln!(f, "{sent} sent, {completed} completed, {failed} failed: {:?} {:?}", result.requests, result.errors)?;
        writeln!(f, "{:?} server {server:?} wire {wire:?} handlers {:?}", result.connections, case.seen)?;
        writeln!(f, "{:?}\n{:?}", result.latency, case.options)
    }
}

impl<'r> Outcome<'r> {
    fn new(world: &World, case: &'r Case, run: &'r Run) -> Self {
        let wire = case.lengths.map(|[request, reply]| Wire::of(world, request, reply));
        let sum = |of: fn(&Second) -> u64| run.report.seconds.iter().map(of).sum();
        Self { case, run, wire, sent: sum(|s| s.sent), completed: sum(|s| s.completed), failed: sum(|s| s.failed) }
    }

    fn holds(&self) {
        self.nothing_is_lost();
        self.seconds_add_up();
        self.each_request_counts_once();
        self.the_limits_are_kept();
        self.the_server_agrees();
        self.nothing_fails_without_a_reason();
        self.connections_are_used_alike();
    }

    /// What was sent, or was due, is answered, failed, or was in flight at the end of the window.
    fn nothing_is_lost(&self) {
        let (options, requests) = (&self.case.options, &self.run.report.result.requests);
        let offered = || self.run.report.seconds.iter().map(|second| second.offered.unwrap()).sum();
        let begun = if options.rate.is_some() { offered() } else { self.sent };
        // After a warm-up, those that were in flight at the end and then lost are not told from those that the warm-up lost
        // in the window, which a window of a number of requests does not count at all.
        let in_flight = options.connections as u64 * self.case.depth;
        let (failed, most) = match options.warmup.is_zero() {
            true => (requests.failed, 0),
            false => (self.failed, in_flight * if options.requests.is_some() { 2 } else { 1 }),
        };
        let ended = self.completed + failed + requests.unanswered;
        assert!((ended..=ended + most).contains(&begun), "{self:?}");
    }

    fn seconds_add_up(&self) {
        let requests = &self.run.report.result.requests;
        let window = self.run.report.seconds.iter().filter(|second| !second.warmup);
        let completed: u64 = window.map(|second| second.completed).sum();
        assert_eq!(completed, requests.completed, "{self:?}");
    }

    /// Each reply is in the histograms once. Requests of the warm-up that end in the window are not. Every request that was due
    /// in the window is answered, refused, lost or abandoned.
    fn each_request_counts_once(&self) {
        let (result, responses) = (&self.run.report.result, &self.run.responses);
        let (requests, latency, errors) = (&result.requests, &result.latency, &result.errors);
        // Requests of the window without a complete reply, those among them that were lost before its end, and refused replies
        // to those that it left unanswered.
        let lost = requests.failed - errors.status - errors.mismatch;
        let refused_late = latency.error.count.saturating_sub(requests.failed);
        assert_eq!(latency.response.censored, lost + requests.abandoned, "{self:?}");
        if let Some(due) = requests.due {
            assert_eq!(latency.response.count + latency.error.count - lost, due, "{self:?}");
        }
        assert!(requests.abandoned <= requests.unanswered, "{self:?}");
        assert_eq!(
            latency.first_byte.as_ref().map_or(latency.service.count, |first| first.count),
            latency.service.count
        );
        let in_flight = self.case.options.connections as u64 * self.case.depth;
        let (replies, all) = (latency.service.count, latency.response.count);
        if self.case.options.warmup.is_zero() {
            let lost_in_time = self.failed - errors.status - errors.mismatch;
            assert_eq!(
                (replies, latency.error.count - refused_late),
                (requests.completed, requests.failed),
                "{self:?}"
            );
            assert!(refused_late <= requests.unanswered - requests.abandoned, "{self:?}");
            assert_eq!(responses.len(), requests.completed + lost_in_time, "{self:?}");
            assert_eq!(all + refused_late, requests.completed + lost + requests.unanswered, "{self:?}");
            let begun = if self.case.options.rate.is_some() { self.sent } else { replies };
            assert_eq!(latency.lag.count, begun, "{self:?}");
        }
        let warm = self.run.report.seconds.iter().filter(|second| second.warmup);
        let before: u64 = warm.map(|second| second.offered.unwrap_or(in_flight)).sum();
        assert!((replies..=replies + before).contains(&requests.completed), "{self:?}");
        assert!(all <= requests.completed + lost + requests.unanswered, "{self:?}");
        if requests.failed + requests.unanswered == 0 {
            let figures = |summary: &LatencySummary| [summary.p50_us, summary.p99_us, summary.max_us];
            let pairs = figures(&latency.response).into_iter().zip(figures(&latency.service));
            pairs.for_each(|(response, service)| assert!(response >= service, "{self:?}"));
        }
    }

    fn the_limits_are_kept(&self) {
        let (options, result) = (&self.case.options, &self.run.report.result);
        assert!(result.connections.peak <= options.connections as u64, "{self:?}");
        let ended = result.requests.completed + result.requests.failed;
        assert!(options.requests.is_none_or(|limit| ended <= limit), "{self:?}");
        if let Some(wire) = &self.wire {
            assert!(wire.most_in_flight <= self.case.depth, "{self:?}");
        }
    }

    /// What the server has seen, and what has passed between the two.
    fn the_server_agrees(&self) {
        let (Run { report, server, .. }, has_faults) = (self.run, self.case.has_faults);
        let result = &report.result;
        // A request of a connection that is opened for it counts as sent before that.
        let connections = self.case.options.connections as u64;
        let opening = self.case.reuse.map_or(0, |_| connections * self.case.depth);
        // Every other request has reached the server.
        let all = !has_faults && !self.case.is_bad && result.errors.timeout == 0;
        if let Some(seen) = &self.case.seen {
            assert!((self.completed..=self.sent).contains(&seen.requests()), "{self:?}");
            assert!(!all || seen.requests() + opening >= self.sent, "{self:?}");
        }
        assert!(has_faults || server.accepted + connections >= result.connections.opened, "{self:?}");
        if let (Some(wire), Some([request, reply])) = (&self.wire, self.case.lengths) {
            let (sent, arrived) = (wire.requests_sent, wire.replies_arrived);
            assert!(sent <= self.sent * request && arrived >= self.completed * reply, "{self:?}");
            assert!(wire.requests_arrived <= sent && arrived <= wire.replies_sent, "{self:?}");
            assert!(!all || wire.requests_arrived + opening * request >= self.sent * request, "{self:?}");
        }
    }

    /// A calm world answers everything.
    fn nothing_fails_without_a_reason(&self) {
        let (Run { report, server, .. }, case) = (self.run, self.case);
        let result = &report.result;
        let (requests, errors) = (&result.requests, &result.errors);
        assert!(errors.total() >= requests.failed, "{self:?}");
        let may_time_out = case.is_disturbed && case.options.timeout < SECOND;
        if !case.has_faults && !may_time_out {
            assert_eq!((errors.timeout, server.failed, server.cut), (0, 0, 0), "{self:?}");
            assert!(case.is_bad || errors.total() == 0, "{self:?}");
            // Connections that are opened at the end may not be accepted.
            let opened = result.connections.opened;
            let late = case.options.connections as u64;
            assert!((server.accepted..=server.accepted + late).contains(&opened), "{self:?}");
            let all = case.options.requests.is_none_or(|_| requests.completed + requests.failed == REQUESTS);
            assert!(all, "{self:?}");
        }
    }

    /// No connection is forgotten: in a closed loop each has a request until there are no more, in an open loop they take turns.
    fn connections_are_used_alike(&self) {
        let (case, result) = (self.case, &self.run.report.result);
        if !case.is_calm() {
            return;
        }
        let connections = case.options.connections as u64;
        let in_turns = case.options.direct.spread() == Spread::Turns;
        let (requests, jain) = (&result.requests, result.connections.jain_index.unwrap_or(1.0));
        match (case.options.rate, case.depth) {
            // Little's law: each is busy until no request is left and its last one is answered, after one of the warm-up.
            (None, 1) if case.reuse.is_none() => {
                let service = &result.latency.service;
                let (mean, max) = (service.mean_us.unwrap_or_default(), service.max_us.unwrap_or_default());
                let others = if case.options.warmup.is_zero() { 1.0 } else { 2.0 };
                let least = connections as f64 * (result.load.measured_s * 1e6 - others * max);
                assert!(service.count as f64 * mean >= least * 0.999, "{least} {self:?}");
            }
            (None, _) => assert_eq!(requests.unanswered, 0, "{self:?}"),
            (Some(_), _) if !in_turns => assert_eq!(result.connections.jain_index, None, "{self:?}"),
            (Some(_), _) if case.is_regular => {
                let (each, more) = (requests.completed / connections, requests.completed % connections);
                let squares = more * (each + 1).pow(2) + (connections - more) * each.pow(2);
                let even = requests.completed.pow(2) as f64 / (connections * squares) as f64;
                assert!((jain - even).abs() < 1e-9, "{jain} for {even}: {self:?}");
            }
            (Some(_), _) => assert!(jain > EVEN || requests.completed < 20 * connections, "{self:?}"),
        }
        let takes_turns = in_turns && case.options.rate.is_some() && case.options.threads.len() == 1 && case.depth == 1;
        if let Some(wire) = self.wire.as_ref().filter(|_| takes_turns && case.reuse.is_none()) {
            // The one idle longest is next: all others were before it, and have just ended.
            assert!(wire.most_passed_over <= 2 * connections, "{self:?}");
        }
    }
}

/// Lets the heap keep its memory between worlds, each of which takes and returns some megabytes: glibc returns memory to the
/// system as soon as more is free than twice the largest block that was mapped for itself and freed (mallopt(3)).
fn keep_heap() {
    drop(hint::black_box(vec![0u8; HEAP]));
}

#[test]
fn nothing_is_lost_and_each_request_counts_once() {
    lengths();
    keep_heap();
    each_seed("--test sim properties", SEEDS, check);
}
