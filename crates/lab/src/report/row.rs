//! One row of the report: a cell and the figures of its repeats. Missing figures stay missing.

use super::colocation::Colocation;
use super::compared::Compared;
use super::parts::Parts;
use super::percentiles::{self, Percentiles};
use crate::format;
use crate::group::distinct;
use crate::run_directory::{Failure, TrialOutcome};
use crate::schedule::Cell;
use brunt_results::{LatencySummary, RunResult, Verdict, env::Idle, verdict::Kind};
use brunt_statistics::median_interval;
use brunt_statistics::{CONFIDENCE, Interval, Spread, median, outliers, percentile_median, spread, supported};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub struct Row {
    /// Index of the run, if several runs are shown together.
    pub run: usize,
    pub cell: Cell,
    pub done: usize,
    /// Repeat and response p99 in microseconds, for repeats with enough requests.
    pub p99s_us: Vec<(u32, f64)>,
    pub failures: Vec<(u32, Failure)>,
    /// Repeats in which most requests failed, and how many.
    pub failing: Vec<(u32, String)>,
    pub figures: Figures,
    pub rates: BTreeMap<u32, f64>,
    /// Ratio of `rates` to those of the baseline row; see `compare_to_baseline`.
    pub against_baseline: Option<Spread>,
    /// Of a sliced experiment.
    pub compared: Option<Compared>,
    /// What ran beside the target; the caller sets it.
    pub colocated: Option<Colocation>,
    pub verdicts: BTreeMap<Kind, usize>,
    /// Of the repeat with the median throughput.
    pub parts: Parts,
    pub doubts: Vec<(u32, Verdict)>,
}

/// Medians over the repeats of one cell; times in microseconds. A figure missing from all repeats is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    pub rate: Option<Spread>,
    /// Interval of the median throughput, from six repeats on.
    pub rate_interval: Option<Interval>,
    pub p50_us: Option<f64>,
    pub p95_us: Option<f64>,
    /// Percentiles that the plan asks for besides.
    pub percentiles_us: Percentiles,
    pub p99_us: Option<f64>,
    /// The wider of the interval over the repeats and the one within the median repeat.
    pub p99_interval: Option<Interval>,
    pub p999_us: Option<f64>,
    pub service_mean_us: Option<f64>,
    /// Server CPU; 100 is one core.
    pub cpu_user_percent: Option<f64>,
    pub cpu_percent: Option<f64>,
    pub rss_bytes: Option<f64>,
    /// Growth of resident memory per connection, from `ENOUGH_CONNECTIONS` on.
    pub rss_per_connection_bytes: Option<f64>,
    /// Growth of kernel slab memory per connection, both ends if both are on this machine.
    pub slab_per_connection_bytes: Option<f64>,
    /// The part of sockets, of requests of io_uring, and of epoll's entries.
    pub slab_sockets_per_connection_bytes: Option<f64>,
    pub slab_io_uring_per_connection_bytes: Option<f64>,
    pub slab_epoll_per_connection_bytes: Option<f64>,
    /// Connections opened per second, from `ENOUGH_CONNECTIONS` on.
    pub connect_rate: Option<f64>,
    /// Connections with a good reply in the window, and Jain's index of their numbers, from `ENOUGH_CONNECTIONS` on.
    pub served_percent: Option<f64>,
    pub jain_index: Option<f64>,
    pub cpu_us_per_request: Option<f64>,
    /// Between slices, in the start in which it used most CPU; the caller sets it.
    pub idle: Option<Idle>,
    pub instructions_user_per_request: Option<f64>,
    /// Figures of HTTP, from here on, are absent if replies have no statuses. Service time, because every tester reports
    /// it; see `testers`.
    pub service_p50_us: Option<f64>,
    /// From sending a request until the first byte of its reply; absent where every reply came whole.
    pub first_byte_p50_us: Option<f64>,
    pub first_byte_p99_us: Option<f64>,
    /// In percent of the median.
    pub service_p90_percent: Option<f64>,
    pub service_p99_percent: Option<f64>,
    pub service_p999_percent: Option<f64>,
    pub sockets: Option<f64>,
    /// Head and body if the tester counts both, else the body.
    pub bytes_per_response: Option<f64>,
    /// CPU of the generator's busiest thread; 100 is its core.
    pub generator_percent: Option<f64>,
    pub failed: Option<f64>,
}

impl Row {
    pub fn new(cell: Cell, trials: Vec<(u32, TrialOutcome)>) -> Self {
        let (mut results, mut failures, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut verdicts, mut rates) = (BTreeMap::new(), BTreeMap::new());
        let (mut p99s_us, mut failing) = (Vec::new(), Vec::new());
        for (repeat, kept) in trials {
            match kept {
                TrialOutcome::Done(result) => {
                    *verdicts.entry(result.verdict.kind).or_default() += 1;
                    if !result.verdict.is_ok() {
                        doubts.push((repeat, result.verdict.clone()));
                    }
                    rates.insert(repeat, result.requests.rate);
                    failing.extend(mostly_failed(&result).map(|how| (repeat, how)));
                    let response = &result.latency.response;
                    p99s_us.extend(supported(response, 0.99, response.p99_us).map(|p99_us| (repeat, p99_us)));
                    results.push(result);
                }
                TrialOutcome::Failed(failure) => failures.push((repeat, failure)),
            }
        }
        let (figures, parts, done) = (Figures::of(&results), Parts::of(&results), results.len());
        Self {
            run: 0,
            cell,
            done,
            failures,
            failing,
            figures,
            rates,
            p99s_us,
            against_baseline: None,
            compared: None,
            colocated: None,
            parts,
            verdicts,
            doubts,
        }
    }

    /// Repeats with outlying throughput that also differs by a share that matters. They count like all others.
    pub fn outliers(&self) -> Vec<(u32, f64)> {
        let rates: Vec<(u32, f64)> = self.rates.iter().map(|(repeat, rate)| (*repeat, *rate)).collect();
        let values: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
        let middle = self.figures.rate.map_or(0.0, |rate| rate.median);
        let matters = |(_, rate): &(u32, f64)| (rate - middle).abs() > RELEVANT_SHARE * middle;
        outliers(&values).into_iter().map(|place| rates[place]).filter(matters).collect()
    }

    /// Whether fewer than half of the results have the verdict `ok`.
    pub fn is_untrusted(&self) -> bool {
        let good = self.verdicts.get(&Kind::Ok).copied().unwrap_or(0);
        self.done > 0 && 2 * good < self.done
    }

    /// The verdict on the comparison, if there is one, and that on the figures themselves where it is not `ok`.
    pub fn verdict(&self) -> String {
        let Some(compared) = &self.compared else { return self.own_verdict() };
        let all = self.done + self.failures.len();
        let issues = self.verdicts.iter().filter(|(kind, _)| **kind != Kind::Ok).map(|(kind, n)| (*n, kind.word()));
        let failed = Some((self.failures.len(), "failed")).filter(|(count, _)| *count > 0);
        let word = |(count, word)| if count == all { format!("; {word}") } else { format!("; {count} {word}") };
        let own: String = issues.chain(failed).map(word).collect();
        format!("{}{own}", compared.verdict())
    }

    /// `ok`, or `2 ok, 1 client-limited`, or `1 failed`.
    fn own_verdict(&self) -> String {
        let mut words: Vec<(usize, &str)> = self.verdicts.iter().map(|(kind, count)| (*count, kind.word())).collect();
        if !self.failures.is_empty() {
            words.push((self.failures.len(), "failed"));
        }
        match words.as_slice() {
            [(_, only)] if self.failures.is_empty() => (*only).to_owned(),
            _ => words.iter().map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Smallest distance of an outlier from the median, as a share of it: repeats that agree to 0.1 % are no concern, however
/// closely the others agree.
const RELEVANT_SHARE: f64 = 0.02;

/// How many requests failed, if more than were answered, or if none was answered.
fn mostly_failed(result: &RunResult) -> Option<String> {
    let requests = &result.requests;
    let failed = result.failures();
    match requests.completed {
        completed if result.has_failed() && failed > completed => {
            Some(format!("{failed} of {} requests failed ({})", failed + completed, result.failure_words()))
        }
        0 if requests.unanswered > 0 => Some(format!("none of {} requests was answered", requests.unanswered)),
        _ => None,
    }
}

impl Figures {
    fn of(results: &[Box<RunResult>]) -> Self {
        let of = |figure: fn(&RunResult) -> Option<f64>| median(results.iter().map(|result| figure(result)));
        let percentile = |figure: fn(&LatencySummary) -> Option<f64>| {
            percentile_median(results.iter().map(|result| figure(&result.latency.response)))
        };
        let rates: Vec<f64> = results.iter().map(|result| result.requests.rate).collect();
        Self {
            rate: spread(rates.iter().copied().map(Some)),
            rate_interval: median_interval(&rates, CONFIDENCE),
            p50_us: percentile(|r| supported(r, 0.5, r.p50_us)),
            p95_us: percentile(|r| supported(r, 0.95, r.p95_us)),
            percentiles_us: percentiles::medians(results),
            p99_us: percentile(|r| supported(r, 0.99, r.p99_us)),
            p99_interval: None,
            idle: None,
            p999_us: percentile(|r| supported(r, 0.999, r.p999_us)),
            service_mean_us: of(|r| r.latency.service.mean_us),
            cpu_user_percent: of(|r| r.server.cpu_user_percent),
            cpu_percent: of(|r| r.server.cpu_percent()),
            rss_bytes: of(|r| r.server.rss_bytes.map(|bytes| bytes as f64)),
            rss_per_connection_bytes: of(rss_per_connection_bytes),
            slab_per_connection_bytes: of(|r| each_grew(r, r.host.slab_start_bytes?, r.host.slab_bytes?)),
            slab_sockets_per_connection_bytes: of(|r| {
                each_grew(r, r.host.slab_sockets_start_bytes?, r.host.slab_sockets_bytes?)
            }),
            slab_io_uring_per_connection_bytes: of(|r| {
                each_grew(r, r.host.slab_io_uring_start_bytes?, r.host.slab_io_uring_bytes?)
            }),
            slab_epoll_per_connection_bytes: of(|r| {
                each_grew(r, r.host.slab_epoll_start_bytes?, r.host.slab_epoll_bytes?)
            }),
            connect_rate: of(|r| r.connections.connect_rate_per_s.filter(|_| has_enough_connections(r))),
            served_percent: of(|r| r.connections.served_percent.filter(|_| has_enough_connections(r))),
            jain_index: of(|r| r.connections.jain_index.filter(|_| has_enough_connections(r))),
            cpu_us_per_request: of(|r| r.server.cpu_us_per_request),
            instructions_user_per_request: of(|r| r.server.instructions_user_per_request),
            ..Self::of_http(results)
        }
    }

    /// CPU time of the server for a request, in microseconds.
    pub fn cost(&self) -> String {
        match &self.idle {
            Some(idle) if idle.polls() => "polls".to_owned(),
            _ => format::number(self.cpu_us_per_request, 2),
        }
    }

    fn of_http(results: &[Box<RunResult>]) -> Self {
        if !results.iter().any(|result| result.responses.is_some()) {
            return Self::default();
        }
        let of = |figure: fn(&RunResult) -> Option<f64>| median(results.iter().map(|result| figure(result)));
        let service = |figure: &dyn Fn(&LatencySummary) -> Option<f64>| {
            percentile_median(results.iter().map(|result| figure(&result.latency.service)))
        };
        let in_pieces = |result: &RunResult| {
            let latency = &result.latency;
            latency.first_byte.clone().filter(|times| *times != latency.service)
        };
        let first_byte = |figure: &dyn Fn(&LatencySummary) -> Option<f64>| {
            percentile_median(results.iter().map(|result| figure(&in_pieces(result)?)))
        };
        // Ratios are formed within a trial, because trials differ in speed.
        let share = |figure: fn(&LatencySummary) -> Option<f64>| {
            service(&|of| Some(figure(of)? / of.p50_us.filter(|p50| *p50 > 0.0)? * 100.0))
        };
        Self {
            service_p50_us: service(&|s| supported(s, 0.5, s.p50_us)),
            first_byte_p50_us: first_byte(&|s| supported(s, 0.5, s.p50_us)),
            first_byte_p99_us: first_byte(&|s| supported(s, 0.99, s.p99_us)),
            service_p90_percent: share(|s| supported(s, 0.9, s.p90_us)),
            service_p99_percent: share(|s| supported(s, 0.99, s.p99_us)),
            service_p999_percent: share(|s| supported(s, 0.999, s.p999_us)),
            sockets: of(|r| (r.connections.opened > 0).then_some(r.connections.opened as f64)),
            bytes_per_response: of(bytes_per_response),
            generator_percent: of(|r| r.generator.thread_cpu_percent.iter().copied().reduce(f64::max)),
            failed: of(|r| Some(r.failures() as f64)),
            ..Self::default()
        }
    }
}

/// Includes failed replies, because their bytes are counted too.
fn bytes_per_response(result: &RunResult) -> Option<f64> {
    let bytes = match result.bytes.received {
        0 => result.responses.as_ref()?.body_bytes?,
        all => all,
    };
    let replies = result.requests.completed + result.errors.status;
    (replies > 0).then(|| bytes as f64 / replies as f64)
}

/// With fewer connections, memory touched anyway outweighs theirs.
const ENOUGH_CONNECTIONS: u64 = 1000;

fn rss_per_connection_bytes(result: &RunResult) -> Option<f64> {
    let server = &result.server;
    // Older results lack anonymous memory.
    let (start, end) =
        server.rss_anon_start_bytes.zip(server.rss_anon_bytes).or(server.rss_start_bytes.zip(server.rss_bytes))?;
    each_grew(result, start, end)
}

fn has_enough_connections(result: &RunResult) -> bool {
    result.connections.peak >= ENOUGH_CONNECTIONS
}

fn each_grew(result: &RunResult, start: u64, end: u64) -> Option<f64> {
    has_enough_connections(result).then(|| end.saturating_sub(start) as f64 / result.connections.peak as f64)
}

/// Sorts by load, cores first. Targets of one load stay adjacent in plan order, phases in sequence.
pub fn sort(rows: &mut Vec<Row>) {
    let combinations = distinct(rows.iter().map(|row| row.cell.combination().to_owned()));
    let place = |row: &Row| combinations.iter().position(|name| *name == row.cell.combination());
    let in_phases = rows.iter().any(|row| row.cell.phase().is_some());
    let mut keyed: Vec<_> = rows
        .drain(..)
        .map(|row| {
            let cell = &row.cell;
            let cores = (cell.placement.server.count(), cell.placement.client.count());
            // `None`, a closed loop, sorts first.
            let rate = cell.rate().map(|rate| rate.to_bits());
            let load = (!in_phases).then_some((cell.settings.size, cell.connections(), rate));
            ((cores, load, place(&row)), row)
        })
        .collect();
    // Stable: targets keep their order.
    keyed.sort_by_key(|(key, _)| *key);
    rows.extend(keyed.into_iter().map(|(_, row)| row));
}

/// Sets each row's throughput relative to that of the target `baseline` under the same load, by repeat. Within a repeat the
/// targets of one load run one after another, so disturbances longer than that affect all of them and cancel out of the
/// ratio.
pub fn compare_to_baseline(rows: &mut [Row], baseline: &str) {
    let of_baseline = rows.iter().filter(|row| row.cell.target == baseline);
    let bases: BTreeMap<String, _> =
        of_baseline.map(|row| (row.cell.combination().to_owned(), (row.cell.rate(), row.rates.clone()))).collect();
    for row in rows {
        // A plan may give a target a rate of its own.
        let base = bases.get(row.cell.combination()).filter(|(rate, _)| *rate == row.cell.rate());
        let Some((_, base)) = base else { continue };
        let ratio = |(repeat, rate): (&u32, &f64)| base.get(repeat).map(|base| rate / base);
        row.against_baseline = spread(row.rates.iter().map(ratio));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::result::{Bytes, Connections, Requests, Responses};

    fn trial(p50: f64, p99: f64, received: u64) -> Box<RunResult> {
        let mut result = RunResult::new("any");
        let times = LatencySummary { count: 5000, p50_us: Some(p50), p99_us: Some(p99), ..LatencySummary::default() };
        result.latency.service = times;
        result.requests = Requests { completed: 90, ..Requests::default() };
        result.errors.status = 10;
        result.connections = Connections { opened: 7, peak: 5, ..Default::default() };
        result.bytes = Bytes { sent: 0, received };
        result.responses = Some(Responses { body_bytes: Some(1100), ..Responses::default() });
        Box::new(result)
    }

    #[test]
    fn a_tail_is_held_against_the_middle_of_its_own_trial() {
        let figures =
            Figures::of_http(&[trial(100.0, 300.0, 15_900), trial(200.0, 400.0, 15_900), trial(400.0, 440.0, 15_900)]);
        assert_eq!((figures.service_p50_us, figures.service_p99_percent), (Some(200.0), Some(200.0)));
        assert_eq!((figures.service_p90_percent, figures.service_p999_percent), (None, None));
        assert_eq!((figures.sockets, figures.bytes_per_response), (Some(7.0), Some(159.0)));
        // Without counted heads, body bytes are used.
        assert_eq!(Figures::of_http(&[trial(1.0, 2.0, 0)]).bytes_per_response, Some(11.0));
    }

    #[test]
    fn requests_without_a_reply_fail_beside_others_that_failed_or_if_none_was_answered() {
        let how = |completed: u64, reset: u64, abandoned: u64| {
            let mut result = RunResult::new("any");
            result.requests = Requests { completed, abandoned, offered_rate: Some(2000.0), ..Requests::default() };
            result.errors.reset = reset;
            mostly_failed(&result)
        };
        assert_eq!(how(3092, 130, 4778).unwrap(), "4908 of 8000 requests failed (130 reset, 4778 unanswered)");
        assert_eq!(how(0, 0, 10).unwrap(), "10 of 10 requests failed (10 unanswered)");
        // A missed rate.
        assert_eq!((how(3000, 0, 5000), how(3000, 10, 5), how(0, 0, 0)), (None, None, None));
    }

    #[test]
    fn where_replies_say_nothing_there_is_nothing_to_show() {
        let mut ping = trial(100.0, 300.0, 15_900);
        ping.responses = None;
        assert_eq!(Figures::of_http(&[ping]), Figures::default());
        assert_eq!(Figures::of_http(&[]), Figures::default());
    }
}
