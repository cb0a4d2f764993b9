//! One row of the report: a cell and the figures of its repeats, each figure on its own and none invented.

use super::http;
use crate::{
    run_directory::{Failure, TrialOutcome},
    schedule::Cell,
    stats::{
        CONFIDENCE, Interval, Spread, median, median_interval::median_interval, outliers::outliers, percentile_median,
        spread, supported,
    },
};
use brunt_results::{LatencySummary, RunResult, Verdict, verdict::Kind};
use std::collections::BTreeMap;

/// A cell and what its trials gave.
#[derive(Debug, Clone)]
pub struct Row {
    /// Which of the runs that are shown together it is of; 0 where there is one.
    pub run: usize,
    /// The cell.
    pub cell: Cell,
    /// Trials with a result.
    pub done: usize,
    /// Number and 99th percentile of the response time of each that has enough requests for it, in microseconds.
    pub p99s_us: Vec<(u32, f64)>,
    /// Trials without one, by repeat.
    pub failures: Vec<(u32, Failure)>,
    /// Over the trials with a result.
    pub figures: Figures,
    /// Completed requests per second of each repeat with a result.
    pub rates: BTreeMap<u32, f64>,
    /// `rates` over those of the baseline's row, of the repeats that both have; see `paired`.
    pub against_baseline: Option<Spread>,
    /// What HTTP has beyond that.
    pub http: http::Figures,
    /// How many trials have which verdict.
    pub verdicts: BTreeMap<Kind, usize>,
    /// The verdicts that are not `ok`, by repeat.
    pub doubts: Vec<(u32, Verdict)>,
}

/// Medians over the repeats of one cell; a figure that no repeat has is absent. Times are microseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Completed requests per second.
    pub rate: Option<Spread>,
    /// Where the median of the throughput over all possible repeats lies, if there are enough to tell.
    pub rate_interval: Option<Interval>,
    /// Response time, median.
    pub p50_us: Option<f64>,
    /// Response time, 99th percentile.
    pub p99_us: Option<f64>,
    /// How sure that is: the wider of what it spans between the repeats and of its interval within the one shown.
    pub p99_interval: Option<Interval>,
    /// Response time, 99.9th percentile.
    pub p999_us: Option<f64>,
    /// Service time, mean.
    pub service_mean_us: Option<f64>,
    /// CPU of the server in user mode; 100 is one core.
    pub cpu_user_percent: Option<f64>,
    /// CPU of the server, user and kernel.
    pub cpu_percent: Option<f64>,
    /// Resident memory of the server.
    pub rss_bytes: Option<f64>,
    /// What the server's resident memory grew by for each connection, in bytes; only of enough connections to tell.
    pub rss_per_connection_bytes: Option<f64>,
    /// What the kernel's own objects grew by for each connection, its ends on this machine together; as above.
    pub slab_per_connection_bytes: Option<f64>,
    /// Connections opened per second; as above.
    pub connect_rate: Option<f64>,
    /// CPU time of the server for a request.
    pub cpu_us_per_request: Option<f64>,
    /// User-mode instructions of the server for a request.
    pub instructions_user_per_request: Option<f64>,
}

impl Row {
    /// Sums up the trials of a cell.
    pub fn new(cell: Cell, trials: Vec<(u32, TrialOutcome)>) -> Self {
        let (mut results, mut failures, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut verdicts, mut rates) = (BTreeMap::new(), BTreeMap::new());
        let mut p99s_us = Vec::new();
        for (repeat, kept) in trials {
            match kept {
                TrialOutcome::Done(result) => {
                    *verdicts.entry(result.verdict.kind).or_default() += 1;
                    if !result.verdict.is_ok() {
                        doubts.push((repeat, result.verdict.clone()));
                    }
                    rates.insert(repeat, result.requests.rate);
                    let response = &result.latency.response;
                    p99s_us.extend(supported(response, 0.99, response.p99_us).map(|p99_us| (repeat, p99_us)));
                    results.push(result);
                }
                TrialOutcome::Failed(failure) => failures.push((repeat, failure)),
            }
        }
        let (figures, http) = (Figures::of(&results), http::Figures::of(&results));
        let done = results.len();
        Self { run: 0, cell, done, failures, figures, http, rates, p99s_us, against_baseline: None, verdicts, doubts }
    }

    /// Repeats whose throughput lies far from that of the others. They count like all others.
    pub fn outliers(&self) -> Vec<(u32, f64)> {
        let rates: Vec<(u32, f64)> = self.rates.iter().map(|(repeat, rate)| (*repeat, *rate)).collect();
        let values: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
        outliers(&values).into_iter().map(|place| rates[place]).collect()
    }

    /// Whether fewer than half of the results may be believed.
    pub fn is_untrusted(&self) -> bool {
        let good = self.verdicts.get(&Kind::Ok).copied().unwrap_or(0);
        self.done > 0 && 2 * good < self.done
    }

    /// `ok`, or `2 ok, 1 client-limited`, or `1 failed`.
    pub fn verdict(&self) -> String {
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
            p99_us: percentile(|r| supported(r, 0.99, r.p99_us)),
            p99_interval: None,
            p999_us: percentile(|r| supported(r, 0.999, r.p999_us)),
            service_mean_us: of(|r| r.latency.service.mean_us),
            cpu_user_percent: of(|r| r.server.cpu_user_percent),
            cpu_percent: of(|r| r.server.cpu_percent()),
            rss_bytes: of(|r| r.server.rss_bytes.map(|bytes| bytes as f64)),
            rss_per_connection_bytes: of(rss_per_connection_bytes),
            slab_per_connection_bytes: of(slab_per_connection_bytes),
            connect_rate: of(|r| r.connections.connect_rate_per_s.filter(|_| has_enough_connections(r))),
            cpu_us_per_request: of(|r| r.server.cpu_us_per_request),
            instructions_user_per_request: of(|r| r.server.instructions_user_per_request),
        }
    }
}

/// With fewer connections the pages a server touches anyway outweigh theirs.
const ENOUGH_CONNECTIONS: u64 = 1000;

fn rss_per_connection_bytes(result: &RunResult) -> Option<f64> {
    let server = &result.server;
    // Older results do not know what no file holds.
    let (start, end) =
        server.rss_anon_start_bytes.zip(server.rss_anon_bytes).or(server.rss_start_bytes.zip(server.rss_bytes))?;
    each_grew(result, start, end)
}

fn slab_per_connection_bytes(result: &RunResult) -> Option<f64> {
    each_grew(result, result.host.slab_start_bytes?, result.host.slab_bytes?)
}

fn has_enough_connections(result: &RunResult) -> bool {
    result.connections.peak >= ENOUGH_CONNECTIONS
}

fn each_grew(result: &RunResult, start: u64, end: u64) -> Option<f64> {
    has_enough_connections(result).then(|| end.saturating_sub(start) as f64 / result.connections.peak as f64)
}

/// Sorts by load, cores first; the targets of one load stay together in the order of the plan, and phases follow each
/// other as they did.
pub fn sort(rows: &mut Vec<Row>) {
    let mut combinations: Vec<String> = Vec::new();
    for row in rows.iter() {
        if !combinations.iter().any(|known| known == row.cell.combination()) {
            combinations.push(row.cell.combination().to_owned());
        }
    }
    let place = |row: &Row| combinations.iter().position(|name| *name == row.cell.combination());
    let in_phases = rows.iter().any(|row| row.cell.phase.as_deref().is_some());
    let mut keyed: Vec<_> = rows
        .drain(..)
        .map(|row| {
            let cell = &row.cell;
            let cores = (cell.placement.server.count(), cell.placement.client.count());
            // Closed loops, which have no rate, come before the rates.
            let rate = cell.rate().map(|rate| rate.to_bits());
            let load = (!in_phases).then_some((cell.settings.size, cell.connections(), rate));
            ((cores, load, place(&row)), row)
        })
        .collect();
    // Stable, so that targets keep their order.
    keyed.sort_by_key(|(key, _)| *key);
    rows.extend(keyed.into_iter().map(|(_, row)| row));
}
