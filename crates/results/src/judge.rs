//! Finds the validity issues of a result. Pure, so that a stored result can be judged again.

mod agents;
mod delayed_ack;
mod limits;

pub use agents::agents;

use crate::shared_cores::SharedCores;
use crate::verdict::{FailureCause, ValidityIssue, Verdict};
use crate::{result::RunResult, wrong_reply::WrongReply};

/// Largest acceptable lag, as a share of the response time, both at the same percentile: the highest that has enough values.
pub const LAG_SHARE: f64 = 0.05;
/// Lag that is always acceptable, in microseconds: the precision of clocks and timers.
pub const LAG_FLOOR_US: f64 = 100.0;
/// CPU of a saturated thread, in percent of a core: the rest is interrupts and the rounding of CPU accounting.
pub const FULL_PERCENT: f64 = 95.0;
/// From this share of its own ceiling the generator is the limit, unless the server is saturated too.
pub const CEILING_SHARE: f64 = 0.9;
/// Above this share the ceiling is ignored: it was measured while the machine was slow.
pub const CEILING_INVALID: f64 = 1.1;
/// Values that must lie beyond a quantile q for it to be trusted: n (1 - q) >= 10.
pub const BEYOND_QUANTILE: f64 = 10.0;
/// Largest acceptable steal time, in percent of the CPU time of all processors.
pub const STEAL_PERCENT: f64 = 2.0;
/// Longest acceptable wait of a runnable thread for a core, in percent of the window.
pub const RUN_QUEUE_PERCENT: f64 = 5.0;

/// Most outages that a verdict tells of.
const OUTAGES: usize = 3;

/// How many values the quantile `1 - beyond` needs: [`BEYOND_QUANTILE`] lie beyond it.
pub fn values_needed(beyond: f64) -> u64 {
    (BEYOND_QUANTILE / beyond).round() as u64
}

/// The verdict on a result; `steal_percent` is that of the host over the window, where known.
pub fn judge(result: &RunResult, steal_percent: Option<f64>) -> Verdict {
    Verdict::of(issues(result, steal_percent))
}

/// The issues of a result, in no order.
pub fn issues(result: &RunResult, steal_percent: Option<f64>) -> Vec<ValidityIssue> {
    let checks = [
        errors,
        lag,
        generator_cpu,
        ceiling,
        limits::throttled,
        limits::memory,
        delayed_ack::issue,
        missed_rate,
        samples,
    ];
    let issues = checks.into_iter().filter_map(|check| check(result));
    issues.chain(disturbances(result, steal_percent)).collect()
}

/// Other work on the cores of the run; `steal_percent` as in [`judge`].
pub fn disturbances(result: &RunResult, steal_percent: Option<f64>) -> impl Iterator<Item = ValidityIssue> {
    let steal = steal_percent.filter(|p| *p > STEAL_PERCENT).map(|percent| ValidityIssue::Steal { percent });
    // A thread that a quota stops waits too, and for no other program.
    // It may have waited for what stands behind it, on its own cores.
    let behind: f64 = result.server.upstreams.iter().map(|part| part.cpu_percent).sum();
    let server = result.server.run_queue_wait_percent.map(|percent| percent - behind);
    let server = server.filter(|_| limits::throttled(result).is_none());
    let waits = [("generator", result.generator.run_queue_wait_percent), ("server", server)];
    let waited = waits.into_iter().filter_map(|(whose, percent)| Some((whose, percent?)));
    let waits: Vec<(&str, f64)> = waited.filter(|(_, percent)| *percent > RUN_QUEUE_PERCENT).collect();
    let waited = match shared_cores(result) {
        Some(cores) if !waits.is_empty() => vec![ValidityIssue::SharedCores { cores, waits }],
        _ => waits.into_iter().map(|(whose, percent)| ValidityIssue::RunQueue { whose, percent }).collect(),
    };
    steal.into_iter().chain(waited)
}

/// The cores on which generator and server may both run, where they are known.
fn shared_cores(result: &RunResult) -> Option<SharedCores> {
    let (generator, server) = (&result.generator, &result.server);
    SharedCores::of(generator.allowed_cores.as_ref()?, server.cores.as_ref()?, generator.thread_cpu_percent.len())
}

fn errors(result: &RunResult) -> Option<ValidityIssue> {
    let (errors, completed, failed) = (&result.errors, result.requests.completed, result.failures());
    let connect = result.first_connect_error.as_ref();
    let closed_after = result.connections.closed_after.filter(|_| errors.closed > 0);
    let is_most = |count: u64| 2 * count > errors.total();
    let cause = match result.first_wrong_reply.as_ref().and_then(|wrong| WrongReply::cause(&wrong.got)) {
        Some(cause) => cause,
        _ if errors.connect > 0 => FailureCause::Connect(connect.map(|first| first.cause).unwrap_or_default()),
        _ if completed == 0 && errors.total() == errors.timeout => FailureCause::NoReply,
        _ if completed == 0 && is_http(result) && errors.total() == errors.reset => FailureCause::HungUp,
        _ if is_most(errors.closed) && closed_after.is_some() => FailureCause::Closed,
        _ if is_most(errors.status) => FailureCause::Status,
        _ if is_most(errors.mismatch) => FailureCause::Mismatch,
        _ if is_most(errors.timeout) => FailureCause::Timeout,
        _ => FailureCause::Other,
    };
    let kinds = result.failure_words();
    let connect = connect.map(|first| format!("the first failed connection: {}", first.error));
    let closed = closed_after.map(|replies| {
        let noun = if replies == 1 { "reply" } else { "replies" };
        format!("the target closes each connection after {replies} {noun}")
    });
    let outages = result.connections.outages.iter().flatten().take(OUTAGES).map(ToString::to_string);
    let first = result.first_wrong_reply.iter().map(ToString::to_string).chain(connect).chain(closed);
    let first = first.chain(outages).collect();
    result.has_failed().then_some(ValidityIssue::Errors {
        failed,
        all: result.attempts(),
        connections: result.failed_connections(),
        kinds,
        cause,
        first,
    })
}

/// Whether the target was loaded over HTTP without TLS.
fn is_http(result: &RunResult) -> bool {
    result.load.protocol.as_deref() == Some("http") && !result.load.url.starts_with("https:")
}

/// Whether the generator sent late through its own fault.
pub fn lag(result: &RunResult) -> Option<ValidityIssue> {
    let (lag, response) = (&result.latency.lag, &result.latency.response);
    let supported = |(_, beyond): &(&str, f64)| values_needed(*beyond) <= lag.count.min(response.count);
    let (percentile, _) = [("p99", 0.01), ("p90", 0.1), ("p50", 0.5)].into_iter().find(supported)?;
    let (lag_us, response_us) = (lag.figure(percentile)??, response.figure(percentile)??);
    (lag_us > LAG_FLOOR_US.max(LAG_SHARE * response_us)).then_some(ValidityIssue::Lag {
        percentile,
        lag_us,
        response_us,
    })
}

/// Whether the generator was saturated and the server was not.
pub fn generator_cpu(result: &RunResult) -> Option<ValidityIssue> {
    let generator = &result.generator;
    let spin_each = generator.spin_percent.unwrap_or(0.0) / generator.thread_cpu_percent.len().max(1) as f64;
    let generator_percent = generator.thread_cpu_percent.iter().copied().fold(0.0, f64::max) - spin_each;
    let server_percent = result.server.busiest_thread_percent;
    // With both saturated the closed loop is balanced: the server was driven to its limit.
    (generator_percent >= FULL_PERCENT && !server_is_saturated(result))
        .then_some(ValidityIssue::GeneratorCpu { generator_percent, server_percent })
}

/// Whether the generator is hardly faster against a null target.
pub fn ceiling(result: &RunResult) -> Option<ValidityIssue> {
    let (rate, ceiling) = (result.requests.rate, result.generator.ceiling_rate?);
    let near = (CEILING_SHARE..=CEILING_INVALID).contains(&(rate / ceiling));
    (near && !server_is_saturated(result)).then_some(ValidityIssue::Ceiling { rate, ceiling })
}

/// Whether the server's busiest thread is saturated, or all its cores are: many processes may share one.
fn server_is_saturated(result: &RunResult) -> bool {
    let server = &result.server;
    let cores = server.cores.as_ref().map(Vec::len).filter(|cores| *cores > 0);
    let is_out_of_cores =
        server.cpu_percent().zip(cores).is_some_and(|(all, cores)| all >= FULL_PERCENT * cores as f64);
    is_out_of_cores || server.busiest_thread_percent.is_some_and(|percent| percent >= FULL_PERCENT)
}

/// As [`rate`], unless connections failed or nothing was answered: no lower rate would help.
fn missed_rate(result: &RunResult) -> Option<ValidityIssue> {
    rate(result).filter(|_| result.errors.connect == 0 && result.requests.completed > 0)
}

/// Whether the offered rate was not reached.
pub fn rate(result: &RunResult) -> Option<ValidityIssue> {
    let offered = result.missed_rate()?;
    let of = result.requests.due.unwrap_or(result.requests.completed).max(1);
    let share = |waited: u64| (waited as f64 / of as f64).min(1.0);
    let waited = result.requests.waited.map(share);
    Some(ValidityIssue::RateMissed { offered, achieved: result.requests.rate, waited })
}

/// As [`few_samples`], unless their number is what was asked for and was not cut short.
fn samples(result: &RunResult) -> Option<ValidityIssue> {
    few_samples(result).filter(|_| result.load.requests.is_none() || result.interrupted)
}

/// Whether there are too few requests for the p99.
pub fn few_samples(result: &RunResult) -> Option<ValidityIssue> {
    let needed = values_needed(1.0 - 0.99);
    // External testers may report service times only; brunt never has more of them than response times.
    let count = result.latency.response.count.max(result.latency.service.count);
    let requests = &result.requests;
    // More requests would not help.
    let all_failed = requests.completed == 0 && result.failures() > 0;
    // Connections that were held idle: no request was due.
    let was_open = result.load.measured_s > 0.0;
    let none_was_due = was_open
        && requests.offered_rate.is_some_and(|rate| rate * result.load.measured_s < 1.0)
        && requests.completed + requests.unanswered == 0;
    (count < needed && !all_failed && !none_was_due).then_some(ValidityIssue::TooFewSamples {
        count,
        needed,
        quantile: "p99",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{Apart, Latency, MemoryLimit, Requests, Responses, Throttled, Upstream};
    use crate::{latency::LatencySummary, verdict::Kind};

    fn good() -> RunResult {
        let latency = |us: f64| LatencySummary { count: 100_000, p99_us: Some(us), ..Default::default() };
        let mut result = RunResult::new("brunt");
        result.load.measured_s = 10.0;
        (result.requests.completed, result.requests.rate) = (100_000, 10_000.0);
        result.requests.offered_rate = Some(10_000.0);
        let (response, service, lag) = (latency(900.0), latency(850.0), latency(20.0));
        result.latency = Latency { response, service, lag, ..Default::default() };
        result.generator.thread_cpu_percent = vec![60.0];
        result.server.busiest_thread_percent = Some(70.0);
        result
    }

    fn counts(result: &mut RunResult, response: u64, service: u64) {
        (result.latency.response.count, result.latency.service.count) = (response, service);
    }

    fn lags(result: &mut RunResult, lag_us: f64, response_us: f64) {
        (result.latency.lag.p99_us, result.latency.response.p99_us) = (Some(lag_us), Some(response_us));
    }

    /// The CPU shares of the generator's thread and of the server's busiest thread.
    fn busy(result: &mut RunResult, generator: f64, server: f64) {
        result.generator.thread_cpu_percent = vec![generator];
        result.server.busiest_thread_percent = Some(server);
    }

    #[track_caller]
    fn assert_verdict(kind: Kind, change: impl FnOnce(&mut RunResult)) {
        let mut result = good();
        change(&mut result);
        let verdict = judge(&result, Some(0.0));
        assert_eq!(verdict.kind, kind, "{:?}", verdict.why);
        assert_eq!(verdict.why.len(), verdict.remedy.len());
    }

    #[test]
    fn the_lag_of_few_requests_is_judged_by_a_percentile_that_they_support() {
        // One of 500 was sent 5 ms late, as a pause of the machine makes it.
        let late = |count| {
            let mut result = good();
            let lag =
                LatencySummary { count, p50_us: Some(10.0), p90_us: Some(50.0), p99_us: Some(5e3), ..<_>::default() };
            let response = LatencySummary { count, p50_us: Some(99.0), p90_us: Some(99.0), ..lag.clone() };
            (result.latency.lag, result.latency.response) = (lag, response);
            result
        };
        assert!(lag(&late(1000)).is_some());
        assert_eq!([1, 19, 20, 500, 999].map(|count| lag(&late(count))), [const { None }; 5]);
        for (count, percentile) in [(20, "p50"), (99, "p50"), (100, "p90"), (999, "p90")] {
            let mut result = late(count);
            (result.latency.lag.p50_us, result.latency.lag.p90_us) = (Some(101.0), Some(102.0));
            let why = lag(&result).unwrap().evidence();
            assert!(why.contains(&format!("lag {percentile} 10")), "{why}");
        }
    }

    #[test]
    fn each_issue_is_raised_by_its_evidence_and_no_less() {
        assert_verdict(Kind::Ok, |_| ());
        assert_verdict(Kind::Errors, |r| r.errors.reset = 1);
        assert_verdict(Kind::ClientLimited, |r| r.latency.lag.p99_us = Some(150.0));
        // 150 us of lag is within 5 % of a response time of 10 ms.
        assert_verdict(Kind::Ok, |r| lags(r, 150.0, 10_000.0));
        assert_verdict(Kind::ClientLimited, |r| r.generator.thread_cpu_percent = vec![20.0, 99.0]);
        assert_verdict(Kind::Ok, |r| busy(r, 99.0, 99.0));
        assert_verdict(Kind::Ok, |r| {
            r.generator.thread_cpu_percent = vec![99.0];
            r.generator.spin_percent = Some(50.0);
        });
        assert_verdict(Kind::ClientLimited, |r| r.generator.ceiling_rate = Some(10_400.0));
        assert_verdict(Kind::Ok, |r| r.generator.ceiling_rate = Some(20_000.0));
        // Much faster than the ceiling: the ceiling is invalid.
        assert_verdict(Kind::Ok, |r| r.generator.ceiling_rate = Some(8_000.0));
        assert_verdict(Kind::Ok, |r| r.generator.ceiling_rate = Some(0.0));
        assert_verdict(Kind::Ok, |r| {
            r.generator.ceiling_rate = Some(10_400.0);
            r.server.busiest_thread_percent = Some(97.0);
        });
        assert_verdict(Kind::RateMissed, |r| r.requests.rate = 9_500.0);
        assert_verdict(Kind::Ok, |r| r.requests.rate = 9_850.0);
        assert_verdict(Kind::TooFewSamples, |r| counts(r, 999, 999));
        assert_verdict(Kind::Ok, |r| counts(r, 0, 1000));
        assert_verdict(Kind::Ok, |r| {
            counts(r, 999, 999);
            r.load.requests = Some(999);
        });
        for (rate, kind) in [(0.01, Kind::Ok), (1.0, Kind::TooFewSamples)] {
            assert_verdict(kind, |r| {
                counts(r, 0, 0);
                r.requests = Requests { offered_rate: Some(rate), ..Requests::default() };
            });
        }
        assert_verdict(Kind::DelayedAck, |r| delay(r, 2.0));
        assert_verdict(Kind::Disturbed, |r| r.generator.run_queue_wait_percent = Some(6.0));
        assert_verdict(Kind::Disturbed, |r| r.server.run_queue_wait_percent = Some(6.0));
        assert_verdict(Kind::Ok, |r| r.server.run_queue_wait_percent = Some(4.0));
    }

    #[test]
    fn a_server_that_waits_for_what_stands_behind_it_is_not_disturbed() {
        let waits = |r: &mut RunResult, cpu_percent| {
            r.server.run_queue_wait_percent = Some(40.0);
            r.server.upstreams = vec![Upstream { cpu_percent, ..Upstream::default() }];
        };
        assert_verdict(Kind::Ok, |r| waits(r, 35.0));
        assert_verdict(Kind::Disturbed, |r| waits(r, 34.0));
    }

    #[test]
    fn generator_and_server_that_share_a_core_are_told_apart_from_other_programs() {
        let judged = |server: usize, wait: f64| {
            let mut result = good();
            (result.generator.allowed_cores, result.server.cores) = (Some(vec![0, 1]), Some(vec![server]));
            result.generator.run_queue_wait_percent = Some(wait);
            result.server.run_queue_wait_percent = Some(2.0 * wait);
            judge(&result, Some(0.0))
        };
        let shared = judged(1, 6.0);
        let said = "generator and server share core 1; a thread was runnable without a core, one of the generator for 6 %, \
                    one of the server for 12 % of the time";
        assert_eq!((&shared.why[..], shared.kinds.len()), (&[said.to_owned()][..], 1));
        assert_eq!(shared.remedy, ["give each cores of its own: --cores 0 --server-cores 1"]);
        assert!(judged(2, 6.0).why.iter().all(|why| why.starts_with("a thread of the ")), "{:?}", judged(2, 6.0));
        assert!(judged(1, 1.0).is_ok());
    }

    #[test]
    fn a_memory_limit_at_which_processes_wait_is_told_and_one_that_gives_up_page_cache_is_not() {
        let limit = |high_events, max_events, killed| MemoryLimit { high_events, max_events, killed, ..<_>::default() };
        for (limit, kind) in
            [(limit(1, 0, 0), Kind::Throttled), (limit(0, 0, 1), Kind::Throttled), (limit(0, 9, 0), Kind::Ok)]
        {
            assert_verdict(kind, |r| r.server.memory_limit = Some(limit));
        }
    }

    /// In so many percent of 1000 periods; its threads wait for a core then.
    fn throttle(result: &mut RunResult, percent: f64) {
        let throttled_periods = (percent * 10.0).round() as u64;
        result.server.throttled = Some(Throttled { periods: 1000, throttled_periods, ..Throttled::default() });
        result.server.run_queue_wait_percent = Some(if throttled_periods >= 10 { 40.0 } else { 0.0 });
    }

    /// So many percent of its replies.
    fn delay(result: &mut RunResult, percent: f64) {
        let delayed = (percent * 1000.0).round() as u64;
        let apart = Apart { from_35_to_45_ms: delayed, from_20_to_80_ms: delayed };
        result.responses = Some(Responses { apart: Some(apart), ..Responses::default() });
        result.latency.first_byte = Some(LatencySummary { p50_us: Some(100.0), ..Default::default() });
    }

    /// For every threshold: the last value that raises no issue and the first that does.
    #[test]
    fn thresholds_are_as_documented_and_the_worst_issue_names_the_verdict() {
        type Change = fn(&mut RunResult, f64);
        let cases: [(Kind, f64, f64, Change); 12] = [
            (Kind::Errors, 0.0, 1.0, |r, x| r.requests.failed = x as u64),
            (Kind::ClientLimited, 100.0, 100.1, |r, x| r.latency.lag.p99_us = Some(x)),
            (Kind::ClientLimited, 500.0, 500.1, |r, x| lags(r, x, 10_000.0)),
            (Kind::ClientLimited, 94.9, 95.0, |r, x| r.generator.thread_cpu_percent = vec![x]),
            // The offered rate is 10,000 over 10 s: 2 % less, and three times the square root of 100,000 over 10 s.
            (Kind::RateMissed, 9705.2, 9705.1, |r, x| r.requests.rate = x),
            (Kind::Throttled, 0.9, 1.0, throttle),
            (Kind::DelayedAck, 0.999, 1.0, delay),
            (Kind::TooFewSamples, 1000.0, 999.0, |r, x| counts(r, x as u64, x as u64)),
            (Kind::Disturbed, 5.0, 5.1, |r, x| r.generator.run_queue_wait_percent = Some(x)),
            (Kind::Disturbed, 5.0, 5.1, |r, x| r.server.run_queue_wait_percent = Some(x)),
            // With a saturated generator, the server decides: by its busiest thread or by all its cores.
            (Kind::ClientLimited, 95.0, 94.9, |r, x| busy(r, 99.0, x)),
            (Kind::ClientLimited, 190.0, 189.9, |r, x| {
                r.generator.thread_cpu_percent = vec![99.0];
                (r.server.cpu_user_percent, r.server.cpu_system_percent) = (Some(0.0), Some(x));
                r.server.cores = Some(vec![4, 5]);
            }),
        ];
        for (kind, good, bad, change) in cases {
            assert_verdict(Kind::Ok, |r| change(r, good));
            assert_verdict(kind, |r| change(r, bad));
        }
        for (steal_percent, kind) in [(2.0, Kind::Ok), (2.1, Kind::Disturbed), (3.0, Kind::Disturbed)] {
            assert_eq!(judge(&self::good(), Some(steal_percent)).kind, kind, "{steal_percent}");
        }
        let mut result = self::good();
        result.errors.timeout = 5;
        result.requests.rate = 100.0;
        let verdict = judge(&result, Some(50.0));
        assert_eq!(verdict.kind, Kind::Errors);
        assert_eq!(verdict.why.len(), 3);
        assert!(verdict.why[0].contains("5 timeout"), "{:?}", verdict.why);
    }
}
