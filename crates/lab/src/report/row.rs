//! One row of the report: a cell and the figures of its repeats. Missing figures stay missing.

use super::colocation::Colocation;
use super::compared::Compared;
use super::parts::Parts;
use super::percentiles::{self, Percentiles};
use crate::format;
use crate::group::distinct;
use crate::run_directory::{Failure, TrialOutcome};
use crate::schedule::Cell;
use brunt_results::figure::{self, Figure};
use brunt_results::{RunResult, Verdict, env::Idle, verdict::Kind};
use brunt_statistics::median_interval;
use brunt_statistics::{CONFIDENCE, Interval, Spread, median, outliers, percentile_median, spread, supported};
use std::collections::{BTreeMap, BTreeSet};

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
    /// CPU time of the server in microseconds a second, of repeats that have it.
    pub cpu_us_per_s: BTreeMap<u32, f64>,
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

/// Figures over the repeats of one cell. A figure missing from all repeats is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// By key.
    medians: BTreeMap<&'static str, f64>,
    /// Keys of the times among them that are lower bounds.
    bounds: BTreeSet<&'static str>,
    /// Whether replies have statuses.
    pub is_http: bool,
    pub rate: Option<Spread>,
    /// Interval of the median throughput, from six repeats on.
    pub rate_interval: Option<Interval>,
    /// Percentiles that the plan asks for besides.
    pub percentiles_us: Percentiles,
    /// The wider of the interval over the repeats and the one within the median repeat.
    pub p99_interval: Option<Interval>,
    /// Between slices, in the start in which it used most CPU; the caller sets it.
    pub idle: Option<Idle>,
}

impl Row {
    pub fn new(cell: Cell, trials: Vec<(u32, TrialOutcome)>) -> Self {
        let (mut results, mut failures, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut verdicts, mut rates, mut cpu_us_per_s) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (mut p99s_us, mut failing) = (Vec::new(), Vec::new());
        for (repeat, kept) in trials {
            match kept {
                TrialOutcome::Done(result) => {
                    *verdicts.entry(result.verdict.kind).or_default() += 1;
                    if !result.verdict.is_ok() {
                        doubts.push((repeat, result.verdict.clone()));
                    }
                    rates.insert(repeat, result.requests.rate);
                    cpu_us_per_s.extend(result.server.cpu_percent().map(|percent| (repeat, percent * 1e4)));
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
            cpu_us_per_s,
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
            Some(format!("{failed} of {} requests failed ({})", result.attempts(), result.failure_words()))
        }
        0 if requests.unanswered > 0 => Some(format!("none of {} requests was answered", requests.unanswered)),
        _ => None,
    }
}

impl Figures {
    fn of(results: &[Box<RunResult>]) -> Self {
        let rates: Vec<f64> = results.iter().map(|result| result.requests.rate).collect();
        let middle = |one: &'static Figure| Some((one.key, middle(one, results)?));
        Self {
            medians: figure::all().filter_map(middle).collect(),
            bounds: figure::all().filter(|one| is_bound(one, results)).map(|one| one.key).collect(),
            is_http: results.iter().any(|result| result.responses.is_some()),
            rate: spread(rates.iter().copied().map(Some)),
            rate_interval: median_interval(&rates, CONFIDENCE),
            percentiles_us: percentiles::medians(results),
            p99_interval: None,
            idle: None,
        }
    }

    /// The median over the repeats, in the unit of the figure.
    pub fn get(&self, figure: &Figure) -> Option<f64> {
        self.medians.get(figure.key).copied()
    }

    /// Whether [`Self::get`] is a lower bound.
    pub fn is_bound(&self, figure: &Figure) -> bool {
        self.bounds.contains(figure.key)
    }

    /// CPU time of the server for a request, in microseconds.
    pub fn cost(&self) -> String {
        match &self.idle {
            Some(idle) if idle.polls() => "polls".to_owned(),
            _ => format::number(self.get(&figure::COST), 2),
        }
    }
}

/// Whether the median over the repeats is a lower bound.
fn is_bound(figure: &Figure, results: &[Box<RunResult>]) -> bool {
    let bounds = results.iter().filter(|result| figure.is_bound(result)).count();
    bounds > 0 && 2 * bounds >= results.len()
}

/// The median over the repeats. Lower bounds are above all other values, unless the median itself is one.
fn middle(figure: &Figure, results: &[Box<RunResult>]) -> Option<f64> {
    let is_least = is_bound(figure, results);
    let value = |result: &RunResult| {
        let is_above = !is_least && figure.is_bound(result);
        figure.supported(result).map(|value| if is_above { f64::INFINITY } else { value })
    };
    let values = results.iter().map(|result| value(result));
    if figure.quantile().is_some() { percentile_median(values) } else { median(values) }
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
    use brunt_results::LatencySummary;
    use brunt_results::result::{Bytes, Connections, Requests, Responses};

    fn trial(p50: f64, p99: f64, received: u64) -> Box<RunResult> {
        let mut result = RunResult::new("any");
        let times = LatencySummary { count: 5000, p50_us: Some(p50), p99_us: Some(p99), ..LatencySummary::default() };
        result.latency.service = times;
        result.requests = Requests { completed: 90, ..Requests::default() };
        result.errors.status = 10;
        result.connections = Connections { opened: 7, peak: 5, ..Default::default() };
        result.bytes = Bytes::of(0, received);
        result.responses = Some(Responses { body_bytes: Some(1100), ..Responses::default() });
        Box::new(result)
    }

    #[test]
    fn a_tail_is_held_against_the_middle_of_its_own_trial() {
        let figures =
            Figures::of(&[trial(100.0, 300.0, 15_900), trial(200.0, 400.0, 15_900), trial(400.0, 440.0, 15_900)]);
        let [p50, p90, p99, p999, sockets, bytes] = HTTP.map(|one| figures.get(one));
        assert_eq!((p50, p99), (Some(200.0), Some(200.0)));
        assert_eq!((p90, p999), (None, None));
        assert_eq!((sockets, bytes), (Some(7.0), Some(159.0)));
        // Without counted heads, body bytes are used.
        assert_eq!(Figures::of(&[trial(1.0, 2.0, 0)]).get(&figure::BYTES_PER_RESPONSE), Some(11.0));
    }

    const HTTP: [&Figure; 6] = [
        &figure::SERVICE_P50,
        &figure::SERVICE_P90_SHARE,
        &figure::SERVICE_P99_SHARE,
        &figure::SERVICE_P999_SHARE,
        &figure::SOCKETS,
        &figure::BYTES_PER_RESPONSE,
    ];

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
        assert!(HTTP.iter().all(|one| Figures::of(std::slice::from_ref(&ping)).get(one).is_none()));
        assert_eq!(Figures::of(&[]), Figures::default());
    }
}
